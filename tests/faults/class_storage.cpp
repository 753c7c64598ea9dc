// Faults of what holds the files: power cuts, full disks, bits that flip.
#include <fmt/format.h>
#include <sys/mount.h>

#include <optional>
#include <regex>

#include "tests/faults/classes.hpp"
#include "tests/faults/disk.hpp"

namespace rldp::testing {

namespace {

std::uintmax_t compute_size(const path& directory) {
    std::uintmax_t out = 0;
    for (const auto& name : files_in(directory)) out += std::filesystem::file_size(directory / name);
    return out;
}

std::uint64_t written_in(const std::vector<event>& journal) {
    std::uint64_t out = 0;
    for (const auto& what : journal)
        if (what.kind == "write") out += what.bytes.size();
    return out;
}

/// A small file system of its own over a directory, where we may mount one.
class small_disk {
  public:
    small_disk(const path& at, std::uintmax_t bytes) : at_(at) {
        mounted_ = ::mount("none", at.c_str(), "tmpfs", 0, fmt::format("size={}", bytes).c_str()) == 0;
    }
    ~small_disk() {
        if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
    }
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;

    bool mounted() const { return mounted_; }
    void make_room() const { ::mount("none", at_.c_str(), "tmpfs", MS_REMOUNT, "size=64m"); }

  private:
    path at_;
    bool mounted_ = false;
};

/// A bit of one file, any with the same chance of a file, then of its bits.
std::string flip(const path& directory, generator& random) {
    auto names = files_in(directory);
    std::erase_if(names, [&](const auto& name) { return std::filesystem::file_size(directory / name) == 0; });
    const auto name = one_of(names, random);
    auto bytes = read_content(directory / name);
    const auto at = below(random, bytes.size()), bit = below(random, 8);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
    put_content(directory / name, bytes);
    return fmt::format("{}, byte {}, bit {}", name, at, bit);
}

/// What an audit found, less how long it took.
std::string audited(scene& stage) {
    static const std::regex time(R"("seconds": *[-+.e0-9]+)");
    const auto report = stage.where().run() / "trusted/audit/audit.json";
    std::filesystem::remove(report);
    stage.go({"audit", "--quiet", stage.where().run().string()});
    return std::regex_replace(read_content(report), time, "");
}

verdict flipped_in_finished(trial& t, scene& stage) {
    std::filesystem::remove(stage.where().below());
    copy_tree(yard{stage.whole().finished}.below(), stage.where().below());
    const auto run = stage.where().run();
    auto& seen = stage.seen();
    const bool audits = below(t.random, 4) == 0;
    const auto before = audits ? audited(stage) : std::string();
    std::filesystem::remove_all(run / "trusted/audit");
    const auto what = flip(run, t.random);
    seen.take_as_it_is();
    const bool verified = stage.go({"verify", run.string()}).status == 0;
    if (verified && what.starts_with("public/")) seen.object("verify passes over " + what);
    const auto after = audits ? audited(stage) : std::string();
    if (!after.empty() && after != before) seen.object("audit takes over " + what);
    const bool refused = !verified || (audits && after.empty());
    auto out = stage.judged();
    if (out.outcome != "FAILED") out.outcome = refused ? "refused" : "resumed";
    return out;
}

}  // namespace

verdict power_cut(trial& t) {
    auto stage = t.stage();
    const auto& whole = stage.whole();
    const bool resumed = below(t.random, 3) == 0;
    const yard before{resumed ? whole.interrupted : path()};
    const yard named{path(whole.finished).parent_path() / (whole.how.name + (resumed ? "-resumed" : ""))};
    disk platter(before.below(), named.below());
    auto journal = resumed ? whole.resumed : whole.journal;
    journal.resize(below(t.random, journal.size() + 1));
    for (const auto& what : journal) platter.apply(what);
    std::filesystem::remove(stage.where().below());
    platter.leave(stage.where().below(), t.random);

    auto& seen = stage.seen();
    if (resumed) seen.saw(whole.before);
    seen.saw(journal);
    seen.look_after_cut();
    stage.finish(true);
    return stage.judged();
}

verdict full_disk(trial& t) {
    auto stage = t.stage();
    std::optional<small_disk> small;
    disturbance what;
    if (below(t.random, 2) == 0)
        small.emplace(stage.where().below(), 4096 + below(t.random, compute_size(yard{stage.whole().finished}.run())));
    if (!small || !small->mounted())
        what.environment["RLDP_FAULT_ROOM"] = std::to_string(below(t.random, written_in(stage.whole().journal)));
    const auto said = stage.go(stage.next(), what);
    if (said.status == 1) stage.seen().object("a full disk is status 1, not 2: " + error_line(said));
    if (small) small->make_room();
    stage.finish();
    return stage.judged();
}

verdict flipped_bit(trial& t) {
    auto stage = t.seeded_stage();
    if (below(t.random, 2) == 0) return flipped_in_finished(t, stage);
    stage.from_interrupted();
    const auto what = flip(stage.where().run(), t.random);
    stage.seen().take_as_it_is();
    stage.finish(true);
    auto out = stage.judged();
    if (out.outcome == "FAILED") out.symptom = what + ": " + out.symptom;
    return out;
}

}  // namespace rldp::testing
