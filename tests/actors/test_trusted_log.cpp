#include <fcntl.h>
#include <unistd.h>

#include "actors/trusted_log.hpp"
#include "base/files.hpp"
#include "tests/catch.hpp"
#include "tests/support/scratch_directory.hpp"

namespace rldp {

namespace {

/// What `act` writes to standard error.
template <class Act>
std::string printed_by(const Act& act) {
    const scratch_directory scratch;
    const auto file = scratch / "stderr";
    const int kept = ::dup(STDERR_FILENO);
    const int to = ::open(file.c_str(), O_CREAT | O_WRONLY, 0600);
    REQUIRE(kept >= 0);
    REQUIRE(to >= 0);
    ::dup2(to, STDERR_FILENO);
    act();
    ::dup2(kept, STDERR_FILENO);
    ::close(kept);
    ::close(to);
    return read_file(file);
}

}  // namespace

TEST_CASE("The trusted log keeps lines in its file", "[actors]") {
    const scratch_directory scratch;
    const auto file = scratch / "trusted.log";
    const auto log = actors::open_trusted_log(file);
    log->error("the first");
    log->flush();
    CHECK(read_file(file).find("the first") != std::string::npos);
}

TEST_CASE("A trusted log on a full disk says nothing on standard error", "[actors]") {
    CHECK(printed_by([] {
              const auto log = actors::open_trusted_log("/dev/full");
              log->error("a line that can't be written");
              log->flush();
          }).empty());
}

}  // namespace rldp
