// docs/privacy.md §11 of several runs: all that `rldp tune` publishes, its choice among the trials too, is a function
// of configuration, public data and releases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/noninterference/configurations.hpp"
#include "tests/noninterference/experiment.hpp"
#include "tests/noninterference/program.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

namespace fs = std::filesystem;

/// Tunes on one table after the other, in folders of their own below one that holds configuration and table.
class tuning_experiment {
  public:
    explicit tuning_experiment(const fs::path& folder) : folder_(folder) {
        // Two bands, and looks as in any run.
        auto config = short_run(units, "static");
        config["noise"]["bands"] = 2;
        config["data"]["path"] = (folder_ / how.file("table")).string();
        config["data"]["template"] = (folder_ / "template.json").string();
        write_file(folder_ / "template.json", plain_template);
        write_file(folder_ / "config.json", config.dump(2));
    }

    public_side tune_on(const table& rows, const std::string& name, const std::string& environment) const {
        write_table(folder_ / how.file("table"), rows, how);
        const auto directory = folder_ / name;
        fs::create_directories(directory);
        const auto command = fmt::format(
            "cd '{}' && env OMP_NUM_THREADS=1 {} {} tune ../config.json --grid train.lr=0.001,0.02 --out tuned "
            "</dev/null >stdout 2>stderr",
            directory.string(), environment, RLDP_HOOKED_PROGRAM);
        public_side out;
        out["status"] = fmt::format("{}", std::system(command.c_str()));
        for (auto& [file, bytes] : files_below(directory))
            if (file.find("trusted/") == std::string::npos) out[file] = std::move(bytes);
        return out;
    }

    static constexpr layout how{"csv", false};
    static constexpr std::size_t units = 24;

  private:
    fs::path folder_;
};

}  // namespace

TEST_CASE("nothing that a tuning publishes tells tables apart, nor does its choice", "[full]") {
    const scratch_directory scratch;
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    table_maker maker(scratch / "maker", tuning_experiment::how, static_cast<std::uint64_t>(setting("RLDP_SEED", 1)));
    const auto a = maker.base(tuning_experiment::units);
    const tuning_experiment tuning(scratch / "");
    // "%" is the name of each run's directory.
    const auto first = tuning.tune_on(
        a, "a", fmt::format("RLDP_DUMP_RELEASES='{}' RLDP_DUMP_LOOKS='{}'", at("releases-%"), at("looks-%")));
    INFO(first.at("stderr"));
    REQUIRE(first.at("status") == "0");
    REQUIRE(first.contains("tuned/tune.json"));
    REQUIRE(first.contains("tuned/cells/final/public/ledger.jsonl"));
    CHECK(fs::exists(at("releases-trial-2")));
    const auto chosen = nlohmann::json::parse(first.at("tuned/tune.json")).at("winner");
    CHECK(chosen.is_string());

    auto fewer = a, more = a, held_out = a;
    fewer.train.resize(a.train.size() / 2);
    more.train.push_back(maker.unit_on(data::side::train));
    held_out.held_out.push_back(maker.unit_on(data::side::eval));
    const std::vector<std::pair<std::string, table>> neighbours = {
        {"fewer", fewer}, {"one-more", more}, {"one-held-out-more", held_out}};
    for (const auto& [name, rows] : neighbours) {
        const auto directory = "b-" + name;
        const auto second =
            tuning.tune_on(rows, directory,
                           fmt::format("RLDP_REPLAY_RELEASES='{}' RLDP_REPLAY_LOOKS='{}' RLDP_REPLAY_LEDGER='{}'",
                                       at("releases-%"), at("looks-%"), at("a/tuned/cells/%/public/ledger.jsonl")));
        const auto found = differences(first, second);
        INFO(name << ": " << fmt::format("{}", fmt::join(found, "\n")));
        CHECK(found.empty());
    }
    // Without the replay other draws and noise are other releases: the comparison can fail.
    CHECK_FALSE(differences(first, tuning.tune_on(more, "other", "RLDP_SEED=1")).empty());
}
