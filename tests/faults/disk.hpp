#pragma once
// What a file system may have after a power cut, from what a process did before it.
//
// Promised is only what POSIX promises: an fsync of a file keeps its bytes and its size, an fsync of a directory keeps
// its entries. Everything since then may be there or not: of a file's later writes all, none, the first few with the
// last of them torn, or their room filled with zeros; of a directory's later entries the first few, in order. A rename
// within a directory is one entry: it is never half done.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/faults/journal.hpp"

namespace rldp::testing {

class disk {
  public:
    /// Holds what `directory` holds now (nothing, where there is none), all of it safe. Journals call it `name`.
    disk(const path& directory, const path& name);
    ~disk();
    disk(disk&&) noexcept;

    void apply(const event& what);

    /// Puts one of the states that may be left into the directory `to`, which it makes.
    void leave(const path& to, generator& random) const;
    /// The state without a cut: every write and entry is there.
    void leave_all(const path& to) const;

  private:
    struct node;
    struct place;
    struct file_change;
    struct entry_change;
    using number = std::size_t;

    number add(bool directory, unsigned mode);
    void load(number at, const path& from);
    place find(const std::string& where) const;
    void change(number directory, entry_change what);
    void write_out(number at, const path& to, generator* random) const;

    std::string top_;
    std::vector<node> nodes_;
};

}  // namespace rldp::testing
