#include "tests/faults/disk.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace rldp::testing {

namespace fs = std::filesystem;

struct disk::file_change {
    bool cut = false;  ///< to `at` bytes; else `bytes` are written there
    std::size_t at = 0;
    std::string bytes;

    void on(std::string& content) const {
        if (cut) return content.resize(at);
        if (content.size() < at + bytes.size()) content.resize(at + bytes.size());
        content.replace(at, bytes.size(), bytes);
    }
};

/// Names that go, and one that comes: a rename is both at once.
struct disk::entry_change {
    std::string gone;
    std::string name;
    number to = 0;

    void on(std::map<std::string, number>& entries) const {
        if (!gone.empty()) entries.erase(gone);
        if (!name.empty()) entries[name] = to;
    }
};

struct disk::node {
    bool directory = false;
    unsigned mode = 0;
    std::string safe, now;
    std::vector<file_change> pending;
    std::map<std::string, number> safe_entries, entries;
    std::vector<entry_change> pending_entries;
};

struct disk::place {
    number parent = 0;
    std::string name;
    std::optional<number> at;
};

disk::disk(const path& directory, const path& name) : top_(name.string()) {
    add(true, 0755);
    if (fs::exists(directory)) load(0, directory);
}
disk::~disk() = default;
disk::disk(disk&&) noexcept = default;

disk::number disk::add(bool directory, unsigned mode) {
    nodes_.emplace_back();
    nodes_.back().directory = directory;
    nodes_.back().mode = mode;
    return nodes_.size() - 1;
}

void disk::load(number at, const path& from) {
    for (const auto& entry : fs::directory_iterator(from)) {
        const auto made = add(entry.is_directory(), static_cast<unsigned>(entry.status().permissions()));
        const auto name = entry.path().filename().string();
        nodes_[at].entries[name] = nodes_[at].safe_entries[name] = made;
        if (entry.is_directory())
            load(made, entry.path());
        else
            nodes_[made].safe = nodes_[made].now = read_content(entry.path());
    }
}

disk::place disk::find(const std::string& where) const {
    if (!where.starts_with(top_)) throw std::runtime_error(where + ": not below " + top_);
    place out{0, {}, number{0}};
    std::istringstream names(where.substr(top_.size()));
    for (std::string name; std::getline(names, name, '/');) {
        if (name.empty()) continue;
        if (!out.at) return {0, {}, std::nullopt};  // below something that is not there
        out.parent = *out.at;
        out.name = name;
        const auto& entries = nodes_[out.parent].entries;
        const auto found = entries.find(name);
        out.at = found == entries.end() ? std::nullopt : std::optional(found->second);
    }
    return out;
}

void disk::change(number directory, entry_change what) {
    what.on(nodes_[directory].entries);
    nodes_[directory].pending_entries.push_back(std::move(what));
}

void disk::apply(const event& what) {
    const auto here = find(what.where);
    if (what.kind == "create" || what.kind == "mkdir") {
        const auto made = add(what.kind == "mkdir", static_cast<unsigned>(what.number));
        return change(here.parent, {{}, here.name, made});
    }
    if (!here.at) return;  // of a file that was unlinked while it was open
    auto& file = nodes_[*here.at];
    if (what.kind == "write" || what.kind == "truncate") {
        file.pending.push_back({what.kind == "truncate", static_cast<std::size_t>(what.number), what.bytes});
        file.pending.back().on(file.now);
    } else if (what.kind == "fsync") {
        file.safe = file.now;
        file.pending.clear();
        file.safe_entries = file.entries;
        file.pending_entries.clear();
    } else if (what.kind == "unlink" || what.kind == "rmdir") {
        change(here.parent, {here.name, {}, 0});
    } else if (what.kind == "rename") {
        const auto target = find(what.bytes);
        if (target.parent == here.parent) return change(here.parent, {here.name, target.name, *here.at});
        change(target.parent, {{}, target.name, *here.at});
        change(here.parent, {here.name, {}, 0});
    }
}

namespace {

/// What may be left of a file whose last changes were not made safe.
template <class Changes>
std::string remains(const std::string& safe, const std::string& now, const Changes& changes, generator& random) {
    if (changes.empty()) return safe;
    auto out = safe;
    switch (below(random, 4)) {
        case 0:
            return now;
        case 1:
            return safe;
        case 2: {
            const auto whole = below(random, changes.size());
            for (std::size_t i = 0; i < whole; ++i) changes[i].on(out);
            auto torn = changes[whole];
            if (torn.cut) return out;
            torn.bytes.resize(below(random, torn.bytes.size() + 1));
            torn.on(out);
            return out;
        }
        default:
            for (auto blank : changes) {
                std::fill(blank.bytes.begin(), blank.bytes.end(), '\0');
                blank.on(out);
            }
            return out;
    }
}

}  // namespace

void disk::write_out(number at, const path& to, generator* random) const {
    const auto& written = nodes_[at];
    if (!written.directory) {
        put_content(to, random ? remains(written.safe, written.now, written.pending, *random) : written.now);
        fs::permissions(to, static_cast<fs::perms>(written.mode & 07777 ? written.mode & 07777 : 0600));
        return;
    }
    auto entries = random ? written.safe_entries : written.entries;
    if (random) {
        const auto kept = below(*random, written.pending_entries.size() + 1);
        for (std::size_t i = 0; i < kept; ++i) written.pending_entries[i].on(entries);
    }
    fs::create_directories(to);
    for (const auto& [name, child] : entries) write_out(child, to / name, random);
    fs::permissions(to, static_cast<fs::perms>(written.mode & 07777));
}

void disk::leave(const path& to, generator& random) const {
    write_out(0, to, &random);
}

void disk::leave_all(const path& to) const {
    write_out(0, to, nullptr);
}

}  // namespace rldp::testing
