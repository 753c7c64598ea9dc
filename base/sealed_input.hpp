#pragma once
// A pipe, read whole into memory that is sealed: nothing changes it any more, and no file ever holds it. The memory
// takes the descriptor's number, so that processes that this one starts inherit it and read the same.
#include <cstdint>
#include <string_view>

namespace rldp {

/// Whether the descriptor is of memory that seal_input() made, here or in a parent.
bool is_sealed(int descriptor);

/// All bytes of `descriptor`, for as long as the process lives; `name` is what it is called in refusals. Sealed memory
/// is read where it lies. Errors: bad_input for more than `most` bytes, for a terminal, and where reading fails.
std::string_view seal_input(int descriptor, std::string_view name, std::uint64_t most);

/// What a process that this one starts shall read as its standard input: ours where it is sealed, else nothing.
inline const char* input_of_children() {
    return is_sealed(0) ? "/proc/self/fd/0" : "/dev/null";
}

}  // namespace rldp
