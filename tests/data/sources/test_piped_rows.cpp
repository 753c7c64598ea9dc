// Rows through a pipe: the frame, what is refused of it, and that they are read as a file's are.
#include <fcntl.h>
#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "base/sealed_input.hpp"
#include "data/sources/piped_rows.hpp"
#include "data/sources/records.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace rldp;
using namespace rldp::data;

namespace {

constexpr std::uint64_t plenty = 1 << 30;

/// The reading end of a pipe that a thread fills.
class full_pipe {
  public:
    explicit full_pipe(std::string bytes) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        reading_ = ends[0];
        writer_ = std::jthread([bytes = std::move(bytes), to = ends[1]] {
            for (std::size_t at = 0; at < bytes.size();) {
                const auto wrote = ::write(to, bytes.data() + at, bytes.size() - at);
                if (wrote <= 0) break;
                at += static_cast<std::size_t>(wrote);
            }
            ::close(to);
        });
    }
    ~full_pipe() { ::close(reading_); }
    full_pipe(const full_pipe&) = delete;
    full_pipe& operator=(const full_pipe&) = delete;
    int get() const { return reading_; }

  private:
    int reading_ = -1;
    std::jthread writer_;
};

const std::string header = "{\"rldp_rows\": 1}\n";

std::string hex_sha256(std::string_view of) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(of.data()), of.size());
    return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string framed(const std::string& lines, std::size_t rows) {
    return fmt::format("{}{}{{\"rldp_end\": {{\"rows\": {}, \"sha256\": \"{}\"}}}}\n", header, lines, rows,
                       hex_sha256(lines));
}

piped_rows read(const std::string& bytes, std::uint64_t most = plenty) {
    const full_pipe from(bytes);
    return read_piped_rows(from.get(), most);
}

}  // namespace

TEST_CASE("rows come out of a frame as they went in") {
    const std::string lines = "{\"town\": \"Graz\"}\n{\"rldp_end\": \"a value\"}\n";
    const auto got = read(framed(lines, 2));
    CHECK(got.lines == lines);
    CHECK(got.digest == hex_sha256(lines));
    CHECK(read(framed("", 0)).lines.empty());
    std::string many;
    for (int i = 0; i < 300'000; ++i) many += "{\"number\": " + std::to_string(i) + "}\n";
    CHECK(read(framed(many, 300'000)).lines == many);
}

TEST_CASE("nothing can change what was read, and who inherits the descriptor reads the same") {
    const std::string lines = "{\"town\": \"Graz\"}\n";
    const full_pipe from(framed(lines, 1));
    CHECK_FALSE(is_sealed(from.get()));
    const auto first = read_piped_rows(from.get(), plenty);
    REQUIRE(is_sealed(from.get()));
    CHECK(::write(from.get(), "x", 1) < 0);
    CHECK(::ftruncate(from.get(), 0) != 0);
    CHECK(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, from.get(), 0) == MAP_FAILED);
    const int other = ::dup(from.get());
    CHECK(read_piped_rows(other, plenty).lines == lines);
    ::close(other);
    CHECK(first.lines == lines);
}

TEST_CASE("a frame that ends early, was changed, is too large or none is refused") {
    const auto whole = framed("{\"a\": 1}\n{\"a\": 2}\n", 2);
    const auto said = [](const std::string& bytes, std::uint64_t most = plenty) {
        return refusal([&] { read(bytes, most); });
    };
    CHECK(has(said(""), "standard input: nothing came; python3 -m rldp rows"));
    CHECK(has(said("{\"a\": 1}\n"), "does not begin with {\"rldp_rows\": 1}"));
    CHECK(has(said("a,b\n1,2\n"), "does not begin with"));
    CHECK(has(said("{\"rldp_rows\": 2}\n"), "holds rows of form 2"));
    CHECK(has(said(header), "ended early, after 0 whole rows"));
    CHECK(has(said(header.substr(0, 16)), "ended early"));
    for (auto size = header.size(); size < whole.size(); ++size)
        CHECK(has(said(whole.substr(0, size)), "standard input: ended early, after "));
    CHECK(has(said(whole.substr(0, whole.rfind("{\"rldp_end"))), "ended early, after 2 whole rows"));
    CHECK(has(said(whole + "{\"a\": 3}\n"), "ended early"));
    auto changed = whole;
    changed[header.size() + 6] = '3';
    CHECK(has(said(changed), "has changed them"));
    CHECK(has(said(framed("{\"a\": 1}\n", 2)), "1 rows came with SHA-256"));
    CHECK(has(said(whole, 20), "standard input: more than"));
    CHECK(has(refusal([] { read_piped_rows(-1, plenty); }), "can't be read"));
}

TEST_CASE("data.path - is JSON lines of standard input, read as often as they are asked for") {
    const full_pipe from(framed("{\"text\": \"one\"}\n{\"text\": \"two\"}\n", 2));
    const int own = ::dup(STDIN_FILENO);
    ::dup2(from.get(), STDIN_FILENO);
    CHECK(kind_of_data("-") == data_kind::json_lines);
    const auto stream = open_records({.path = "-", .ids_mapping = {}, .narrative = {}, .group = {}});
    for (int walk = 0; walk < 2; ++walk) {
        const auto block = stream->next();
        REQUIRE(block);
        CHECK(block->size() == 2);
        CHECK(block->at(1).text == "two");
        CHECK(block->line(1) == 2);
        CHECK_FALSE(stream->next());
        stream->rewind();
    }
    CHECK(is_sealed(STDIN_FILENO));
    ::dup2(own, STDIN_FILENO);
    ::close(own);
}
