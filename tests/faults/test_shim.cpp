// The preloaded library, under a shell in place of the program.
#include <cstdlib>

#include "tests/catch.hpp"
#include "tests/faults/disk.hpp"
#include "tests/faults/memory_group.hpp"
#include "tests/faults/process.hpp"

using namespace rldp::testing;

namespace {

struct workshop {
    path root;

    workshop() {
        auto pattern = (std::filesystem::temp_directory_path() / "rldp-test-shim-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        root = pattern;
        std::filesystem::create_directories(root / "below");
    }
    ~workshop() { std::filesystem::remove_all(root); }
    workshop(const workshop&) = delete;
    workshop& operator=(const workshop&) = delete;

    answer python(const std::string& script, const std::string& orders, const std::string& room = {}) const {
        command what{{"-c", "import os\nos.chdir('" + (root / "below").string() + "')\n" + script},
                     {{"LD_PRELOAD", RLDP_FAULTS_SHIM},
                      {"RLDP_FAULT_BELOW", (root / "below").string()},
                      {"RLDP_FAULT_JOURNAL", (root / "journal").string()},
                      {"RLDP_FAULT", orders}}};
        if (!room.empty()) what.environment["RLDP_FAULT_ROOM"] = room;
        process running(executed("/usr/bin/python3"), what, root / "aside");
        return running.wait();
    }
};

const std::string two_writes = "f = os.open('a', os.O_CREAT | os.O_WRONLY)\nos.write(f, b'one')\nos.write(f, b'two')\n";

}  // namespace

TEST_CASE("the preloaded library makes the call fail that it is told of, and no other") {
    const workshop at;
    const auto said = at.python(two_writes, "write:below/a:2:ENOSPC");
    CHECK(said.status == 1);
    CHECK(said.err.find("No space left on device") != std::string::npos);
    CHECK(read_content(at.root / "below/a") == "one");
    CHECK(at.python(two_writes, "write:below/b:1:EIO").status == 0);
    CHECK(at.python(two_writes, "any:below/a:1:EACCES").err.find("Permission denied") != std::string::npos);
    CHECK(at.python("print(os.write(os.open('c', os.O_CREAT | os.O_WRONLY), b'four'))", "write:c:1:short").out ==
          "2\n");
    CHECK(at.python("f = open('d', 'w')\nf.write('x' * 100)\nf.close()", "", "99").err.find("No space left") !=
          std::string::npos);
    CHECK(std::filesystem::file_size(at.root / "below/d") == 99);
}

TEST_CASE("the preloaded library kills before a call or after it") {
    const workshop at;
    CHECK(at.python(two_writes, "write:below/a:2:die-before").status == 137);
    CHECK(read_content(at.root / "below/a") == "one");
    CHECK(at.python(two_writes, "write:below/a:2:die-after").status == 137);
    CHECK(read_content(at.root / "below/a") == "onetwo");
}

TEST_CASE("a disk that follows the journal holds what the directory holds") {
    const workshop at;
    const auto said = at.python(
        "import tempfile, shutil\n"
        "d = 'run.partial-1'\n"
        "os.mkdir(d)\nos.mkdir(d + '/public')\n"
        "f = os.open(d + '/public/log', os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"
        "os.write(f, b'first ')\nos.rename(d, 'run')\nos.write(f, b'second')\nos.fsync(f)\n"
        "os.pwrite(f, b'more', 0)\nos.ftruncate(f, 14)\nos.close(f)\n"
        "open('run/gone', 'w').write('x')\nos.unlink('run/gone')\n"
        "open('run/new', 'w').write('new')\nos.replace('run/new', 'run/old')\n"
        "os.mkdir('empty')\nos.rmdir('empty')\n",
        "");
    CHECK(said.err.empty());
    disk platter(at.root / "nothing", at.root / "below");
    for (const auto& what : read_journal(at.root / "journal")) platter.apply(what);
    platter.leave_all(at.root / "copy");
    REQUIRE(files_in(at.root / "copy") == files_in(at.root / "below"));
    CHECK(files_in(at.root / "copy").size() == 2);
    for (const auto& name : files_in(at.root / "copy"))
        CHECK(read_content(at.root / "copy" / name) == read_content(at.root / "below" / name));
    CHECK_FALSE(std::filesystem::exists(at.root / "copy/empty"));
}

TEST_CASE("a call that is named by its place in one journal is the same call in another") {
    const workshop at;
    REQUIRE(at.python(two_writes, "").status == 0);
    const auto journal = read_journal(at.root / "journal");
    std::size_t last = 0;
    for (std::size_t i = 0; i < journal.size(); ++i)
        if (journal[i].kind == "write") last = i;
    CHECK(point_at(journal, last).order("EIO") == "write:below/a:2:EIO");
    CHECK(at.python(two_writes, point_at(journal, last).order("die-before")).status == 137);
}

TEST_CASE("a library that drops a sync or a rename is one that the simulator sees") {
    const workshop at;
    const std::string script =
        "f = os.open('new', os.O_CREAT | os.O_WRONLY)\nos.write(f, b'x')\nos.fsync(f)\nos.rename('new', 'old')\n"
        "d = os.open('.', os.O_RDONLY)\nos.fsync(d)\n";
    const auto always_there = [&](const std::string& orders) {
        std::filesystem::remove(at.root / "journal");
        std::filesystem::remove(at.root / "below/old");
        REQUIRE(at.python(script, orders).status == 0);
        disk platter(at.root / "nothing", at.root / "below");
        for (const auto& what : read_journal(at.root / "journal")) platter.apply(what);
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            generator random(seed);
            const auto to = at.root / "left" / std::to_string(seed);
            std::filesystem::remove_all(to);
            platter.leave(to, random);
            if (read_content(to / "old") != "x") return false;
        }
        return true;
    };
    CHECK(always_there(""));
    CHECK_FALSE(always_there("fsync::1:drop"));
    CHECK_FALSE(always_there("fsync::2:drop"));
    CHECK_FALSE(always_there("rename::1:drop"));
}

TEST_CASE("the preloaded library lets the time of day jump, and no other clock") {
    const workshop at;
    const std::string script =
        "import time\n"
        "def jumps(clock): return sum(abs(b - a) > 3600 for a, b in zip(clock, clock[1:]))\n"
        "print(jumps([time.time() for _ in range(40)]), jumps([time.monotonic() for _ in range(40)]))\n";
    const auto said = [&](const std::string& seed) {
        command what{{"-c", script}, {{"LD_PRELOAD", RLDP_FAULTS_SHIM}, {"RLDP_FAULT_CLOCK", seed}}};
        return process(executed("/usr/bin/python3"), what, at.root / "aside").wait().out;
    };
    CHECK(said("0") == "0 0\n");
    const auto jumping = said("7");
    CHECK(std::stoi(jumping) > 30);
    CHECK(jumping.ends_with(" 0\n"));
}

TEST_CASE("who takes more than a group's memory is killed, and nobody else") {
    const workshop at;
    const memory_group small("test-" + at.root.filename().string(), 64 << 20);
    if (small.door().empty()) {
        WARN("skipped: no control group of memory can be made here");
        return;
    }
    const auto status = [&](const std::string& megabytes) {
        command what{{"-c", "bytearray(" + megabytes + " << 20)"}};
        what.group = small.door();
        return process(executed("/usr/bin/python3"), what, at.root / "aside").wait().status;
    };
    CHECK(status("8") == 0);
    CHECK(status("200") == 137);
}
