#include "privacy/keys/secret_file.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include "config/base/error.hpp"
#include "config/base/input_file.hpp"

namespace rldp::privacy::detail {

namespace fs = std::filesystem;

bool from_hex(std::string_view hex, std::span<unsigned char> out) {
    std::size_t length = 0;
    const char* end = nullptr;
    return hex.size() == 2 * out.size() && hex.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           sodium_hex2bin(out.data(), out.size(), hex.data(), hex.size(), nullptr, &length, &end) == 0 &&
           length == out.size();
}

void refuse_inside_run(const fs::path& path, std::string_view what) {
    std::error_code ignored;
    const auto where = fs::weakly_canonical(fs::absolute(path), ignored);
    for (auto above = where.parent_path();; above = above.parent_path()) {
        if (fs::exists(above / "public/ledger.jsonl", ignored) || fs::exists(above / "ledger.jsonl", ignored))
            refuse(fmt::format("{}: lies in the run directory {}, which is handed on as a whole; keep {}s elsewhere",
                               path.string(), above.string(), what));
        if (above == above.parent_path()) return;
    }
}

void require_directory_of(const fs::path& path) {
    if (const auto parent = fs::absolute(path).parent_path(); !fs::is_directory(parent))
        refuse(parent.string() + ": no such directory; make it, with mode 0700, and try again");
}

std::size_t read_private(const fs::path& path, std::string_view what, char* into, std::size_t room) {
    input_file file(path);
    if ((file.permissions() & (S_IRWXG | S_IRWXO)) != 0)
        refuse(
            fmt::format("{0}: others can read this {2} (mode {1:04o}), so it may be theirs, too; make a new one, or "
                        "chmod 600 {0} if you are sure that nobody did",
                        path.string(), file.permissions(), what));
    return file.read(into, room);
}

}  // namespace rldp::privacy::detail
