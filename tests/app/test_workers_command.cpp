// rldp run --workers, and what launchers start.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/ports.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using rldp::testing::free_port;
using rldp::testing::listening_at;

namespace {

const std::string small =
    "run config/demo.json --quiet --set data.path=synthetic:300 --set data.max_tokens=24 --set train.steps=6 --set "
    "train.expected_batch_size=8 --set train.micro_batch=4 --set train.eval_records=2 --set "
    "noise.insecure_reproducible=true --out ";

struct case_of_workers {
    scratch_directory scratch;
    answer run(const std::string& arguments) const { return rldp_says(arguments, scratch / "."); }
    std::string at(const std::string& name) const { return (scratch / name).string(); }
    std::string adapter(const std::string& run) const {
        return rldp::read_file(scratch / run / "public/adapter/adapter_model.safetensors");
    }
};

}  // namespace

TEST_CASE("two workers make the adapter that one makes, and say what one says", "[full]") {
    const case_of_workers c;
    const auto alone = c.run(small + c.at("one"));
    const auto both = c.run(small + c.at("two") + " --workers 2");
    INFO(both.err);
    REQUIRE(alone.status == 0);
    REQUIRE(both.status == 0);
    CHECK(both.err.empty());
    CHECK(c.adapter("one") == c.adapter("two"));
    CHECK(alone.out.size() == both.out.size());  // but for the directories' names
    CHECK(c.run(small + c.at("sha") + " --workers 3 --set model.shard=true").status == 0);
    CHECK(c.adapter("one") == c.adapter("sha"));
    const auto again = c.run(small + c.at("two") + " --workers 2");
    CHECK(again.status == 2);
    CHECK(has(again.err, "exists already"));
    CHECK(again.err.find('\n') + 1 == again.err.size());  // once, not from each
    const auto over = c.run(small + c.at("two") + " --workers 2 --resume-or-start");
    CHECK(over.status == 0);
}

TEST_CASE("ranks without a secret, or with a strange one, are refused in one line") {
    const case_of_workers c;
    const auto as_rank = [&](const std::string& more, const std::string& arguments) {
        const auto command = "env RANK=0 WORLD_SIZE=2 " + more + " " RLDP_PROGRAM " " + arguments + " >" +
                             c.at("stdout") + " 2>" + c.at("stderr");
        const int status = std::system(command.c_str());
        return answer{WEXITSTATUS(status), "", rldp::read_file(c.at("stderr"))};
    };
    const std::string where = "MASTER_ADDR=127.0.0.1 MASTER_PORT=1";
    const auto none = as_rank(where, small + c.at("run"));
    CHECK(none.status == 2);
    CHECK(has(none.err, "cluster.secret: this is rank 0 of 2"));
    CHECK(has(as_rank("", small + c.at("run")).err, "MASTER_ADDR and MASTER_PORT"));
    CHECK(has(as_rank(where, small + c.at("run") + " --set cluster.secret=" + c.at("absent")).err, "absent"));
    rldp::write_file(c.at("open"), "rldp-cluster-secret x\n");
    std::filesystem::permissions(c.at("open"), std::filesystem::perms(0644));
    CHECK(has(as_rank(where, small + c.at("run") + " --set cluster.secret=" + c.at("open")).err, "others can read"));
    CHECK_FALSE(std::filesystem::exists(c.at("run")));
}

TEST_CASE("a rank whose launcher is gone before it looks ends at once") {
    const case_of_workers c;
    const pid_t launcher = ::fork();
    if (launcher == 0) ::_exit(0);
    REQUIRE(::waitpid(launcher, nullptr, 0) == launcher);
    const auto command = "env RANK=1 WORLD_SIZE=2 RLDP_LAUNCHER=" + std::to_string(launcher) + " " RLDP_PROGRAM " " +
                         small + c.at("run") + " >" + c.at("stdout") + " 2>&1; exit $?";
    CHECK(WEXITSTATUS(std::system(command.c_str())) == 128 + SIGTERM);
}

TEST_CASE("a rank 0 that is killed while it erases leaves nothing behind that its launcher does not tell of",
          "[full]") {
    const case_of_workers c;
    const auto workers = small + c.at("run") + " --workers 2";
    const auto cut = "env LD_PRELOAD=" RLDP_FAULTS_SHIM " RLDP_FAULT_BELOW=" + c.scratch.path().string() +
                     " RLDP_FAULT=unlink:trusted/releases.log:1:die-before " RLDP_PROGRAM " " + workers +
                     " --restarts 1 >" + c.at("stdout") + " 2>" + c.at("stderr");
    CHECK(WEXITSTATUS(std::system(cut.c_str())) == 1);
    const auto said = rldp::read_file(c.at("stderr"));
    INFO(said);
    CHECK(has(said, "rldp: rank 0 was ended by signal 9; restart 1 of 1\n"));
    CHECK(has(said, "rldp: rank 0 was ended by signal 9; go on with the same command and --resume-or-start\n"));
    const auto trusted = c.scratch / "run/trusted";
    CHECK_FALSE(std::filesystem::exists(trusted / "run.key"));
    REQUIRE(std::filesystem::exists(trusted / "releases.log"));
    CHECK(c.run(workers + " --resume-or-start").status == 0);
    for (const char* name : {"releases.log", "checkpoint.safetensors", "weights_seen.safetensors", "corpus"})
        CHECK_FALSE(std::filesystem::exists(trusted / name));
    CHECK(c.run("verify " + c.at("run")).status == 0);
}

TEST_CASE("a rank says in one line who else was started wrongly, or that its port is taken", "[full]") {
    const case_of_workers c;
    REQUIRE(c.run("key new --cluster " + c.at("secret")).status == 0);
    const auto taken_port = free_port(), port = free_port();
    const auto taken = listening_at(taken_port);
    const auto rank = [&](int number, int count, int at) {
        return "env MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(at) + " WORLD_SIZE=" + std::to_string(count) +
               " RANK=" + std::to_string(number) + " " RLDP_PROGRAM " " + small + c.at("run") +
               " --set cluster.secret=" + c.at("secret") + " >" + c.at("stdout") + " 2>" +
               c.at("said" + std::to_string(number));
    };
    const auto said_by = [&](int number) { return rldp::read_file(c.at("said" + std::to_string(number))); };
    CHECK(WEXITSTATUS(std::system(rank(0, 2, taken_port).c_str())) == 2);
    CHECK(said_by(0) == "rldp: MASTER_PORT: port " + std::to_string(taken_port) +
                            " of this machine is taken by another program; give all ranks another one\n");
    const auto both = rank(1, 3, port) + " & " + rank(0, 2, port) + "; status=$?; wait; exit $status";
    CHECK(WEXITSTATUS(std::system(both.c_str())) == 2);
    for (const int number : {0, 1})
        CHECK(said_by(number) ==
              "rldp: rank 1 was started as one of 3 ranks, rank 0 as one of 2 (WORLD_SIZE); start all with the same\n");
    CHECK_FALSE(std::filesystem::exists(c.scratch / "run"));
}

// ATen computes by other instructions there, as on an older processor.
TEST_CASE("ranks whose arithmetic gives other bits refuse each other by name", "[full]") {
    const case_of_workers c;
    if (!has(rldp::read_file("/proc/cpuinfo"), " avx2")) {
        WARN("skipped: this processor has one set of instructions only");
        return;
    }
    REQUIRE(c.run("key new --cluster " + c.at("secret")).status == 0);
    const auto place = "MASTER_ADDR=127.0.0.1 WORLD_SIZE=2 MASTER_PORT=" + std::to_string(20000 + ::getpid() % 20000);
    const auto rank = [&](const std::string& number, const std::string& more) {
        return "env " + place + " RANK=" + number + " " + more + " " RLDP_PROGRAM " " + small + c.at("run") +
               " --set cluster.secret=" + c.at("secret") + " >" + c.at("out" + number) + " 2>" + c.at("err" + number);
    };
    const auto both = rank("1", "ATEN_CPU_CAPABILITY=default") + " & " + rank("0", "");
    CHECK(WEXITSTATUS(std::system((both + "; status=$?; wait; exit $status").c_str())) == 2);
    for (const char* said : {"err0", "err1"})
        CHECK(has(rldp::read_file(c.at(said)), "rank 1 has another result of the same arithmetic, from its processor"));
    CHECK_FALSE(std::filesystem::exists(c.at("run")));
}

TEST_CASE("a secret is made once, for its owner alone") {
    const case_of_workers c;
    const auto made = c.run("key new --cluster " + c.at("secret"));
    CHECK(made.status == 0);
    CHECK(has(made.out, "cluster.secret"));
    CHECK(rldp::read_file(c.at("secret")).starts_with("rldp-cluster-secret "));
    CHECK((std::filesystem::status(c.at("secret")).permissions() & std::filesystem::perms::all) ==
          std::filesystem::perms{0600});
    CHECK(c.run("key new --cluster " + c.at("secret")).status == 2);
    CHECK(c.run("key new --cluster --tokens " + c.at("other")).status == 2);
}
