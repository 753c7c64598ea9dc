#include "base/files.hpp"
#include "privacy/keys/random.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <memory>
#include <numbers>
#include <vector>

#include "privacy/keys/random_normals.hpp"
#include "tests/catch.hpp"
#include "tests/support/goodness.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::privacy;

namespace {

std::vector<double> normals(const run_key& key, std::uint64_t seq, std::uint64_t tensor, std::size_t n) {
    std::vector<double> out(n);
    random_stream(key, purpose::noise, seq, tensor).normals(out);
    return out;
}

long double pair_sum(std::uint64_t first, std::uint64_t second) {
    const auto uniform = [](std::uint64_t w) { return static_cast<long double>((w >> 11) + 1) * 0x1p-53L; };
    const long double r = std::sqrt(-2 * std::log(uniform(first)));
    const long double angle = 2 * std::numbers::pi_v<long double> * uniform(second);
    return r * std::cos(angle) + r * std::sin(angle);
}

}  // namespace

TEST_CASE("streams give what BLAKE2b and AES-256-CTR of other engines give") {
    const auto key = run_key::insecure_from_seed(7);
    random_stream stream(key, purpose::noise, 5, 2);
    std::vector<std::uint64_t> w(1024);
    for (auto& word : w) word = stream.next();
    CHECK(w[0] == 0x5d2eb2d541f7dcb);
    CHECK(w[1] == 0xefab5b537ac5d33d);
    CHECK(w[511] == 0x35d763a5c22c500);
    CHECK(w[512] == 0x48b18f9b7d2022eb);
    CHECK(w[1023] == 0xaacc5e99943758ec);
    const auto x = normals(key, 5, 2, 129);
    CHECK(x[0] == Approx(0.9155196842966922).epsilon(1e-13));
    CHECK(x[1] == Approx(0.6074910568035266).epsilon(1e-13));
    CHECK(x[127] == Approx(0.0754217828796071).epsilon(1e-13));
    CHECK(x[128] == Approx(0.8208456349537234).epsilon(1e-13));
    CHECK(key.hmac("the data") == "ff12a89e7b67f51c27d84cb98504b83a3a59aafe7a209a9df3b4f455d28b3d2d");
}

TEST_CASE("words do not depend on how they are asked for") {
    const auto key = run_key::insecure_from_seed(1);
    random_stream one(key, purpose::draw, 1, 0), many(key, purpose::draw, 1, 0);
    std::vector<std::uint64_t> bulk(5000);
    many.words(std::span(bulk).first(3));
    many.words(std::span(bulk).subspan(3, 2000));
    many.words(std::span(bulk).subspan(2003));
    for (auto word : bulk) REQUIRE(one.next() == word);
    const auto whole = normals(key, 1, 0, 500);
    std::vector<double> parts(500);
    random_stream stream(key, purpose::noise, 1, 0);
    stream.normals(std::span(parts).first(256));
    stream.normals(std::span(parts).subspan(256));
    CHECK(whole == parts);
    // A stream that goes on from elsewhere, also after words of it were used.
    std::vector<double> later(500 - 384);
    stream.next();
    stream.seek_normal(384);
    stream.normals(later);
    CHECK(std::equal(later.begin(), later.end(), whole.begin() + 384));
    stream.seek_normal(0);
    stream.normals(parts);
    CHECK(whole == parts);
}

TEST_CASE("more streams may be open at once than locked memory holds keys of") {
    const auto key = run_key::insecure_from_seed(1);
    std::vector<std::unique_ptr<random_stream>> open;
    for (std::uint64_t i = 0; i < 600; ++i) open.push_back(std::make_unique<random_stream>(key, purpose::noise, 1, i));
    for (std::uint64_t i = 0; i < open.size(); ++i)
        REQUIRE(open[i]->next() == random_stream(key, purpose::noise, 1, i).next());
}

TEST_CASE("normals are accurate to 1e-12, also at the ends of the uniforms") {
    using namespace rldp::privacy::detail;
    std::vector<std::uint64_t> w(words_per_block);
    random_stream stream(run_key::insecure_from_seed(2), purpose::draw, 1, 0);
    double worst = 0;
    for (int round = 0; round < 400; ++round) {
        stream.words(w);
        for (std::size_t j = 0; j < 64 && round < 8; ++j) {
            w[j] = round % 2 ? j << 11 : ~(j << 11);  // u near 0 and near 1
            w[normals_per_block + j] =
                (j << 61) + (j << 11) - (std::uint64_t{1} << 14);  // angles about multiples of π/4
        }
        double out[normals_per_block];
        normal_block(w.data(), out);
        for (std::size_t j = 0; j < normals_per_block; ++j) {
            const auto exact = (pair_sum(w[j], w[128 + j]) + pair_sum(w[256 + j], w[384 + j])) / 2;
            worst = std::max(worst, std::abs(static_cast<double>(out[j] - exact)));
        }
    }
    CHECK(worst < 1e-14);
}

TEST_CASE("normals are standard normal, and the test would see another scale or a shape") {
    const auto key = run_key::insecure_from_seed(3);
    const auto x = normals(key, 1, 0, 200000);
    CHECK(fits(x, 1));
    CHECK_FALSE(fits(x, 1.02));
    CHECK_FALSE(fits(x, 0.98));
    auto shifted = x;
    for (double& v : shifted) v += 0.02;
    CHECK(ks(shifted, 1) > 2.3);
    double fourth = 0;
    for (double v : x) fourth += v * v * v * v;
    CHECK(fourth / 200000 == Approx(3).margin(4 * std::sqrt(96.0 / 200000)));
    // A sum of four uniforms of the same variance, the shape that a broken transform would give.
    random_stream stream(key, purpose::draw, 1, 0);
    std::vector<double> flat(20000);
    for (double& v : flat) {
        v = 0;
        for (int k = 0; k < 4; ++k) v += static_cast<double>(stream.next() >> 11) * 0x1p-53 - 0.5;
        v *= std::sqrt(3.0);
    }
    CHECK(ks(flat, 1) > ks(std::span(x).first(20000), 1));
}

TEST_CASE("streams of other keys, purposes, steps and tensors are independent, the same one repeats") {
    const auto key = run_key::insecure_from_seed(4);
    const auto x = normals(key, 1, 0, 50000);
    CHECK(x == normals(key, 1, 0, 50000));
    std::vector<double> dropout_stream(x.size());
    random_stream(key, purpose::dropout, 1, 0).normals(dropout_stream);
    for (const auto& y : {normals(key, 2, 0, x.size()), normals(key, 1, 1, x.size()), dropout_stream,
                          normals(run_key::insecure_from_seed(5), 1, 0, x.size())}) {
        CHECK(std::abs(correlation_score(x, y)) < 4);
        CHECK(y[0] != x[0]);
    }
    CHECK(std::abs(correlation_score(std::span(x).first(49999), std::span(x).subspan(1))) < 4);
    CHECK(correlation_score(x, x) > 4);
    CHECK(run_key::from_system().hmac("a") != run_key::from_system().hmac("a"));
}

TEST_CASE("a record's seed is its own: of the key, the step and its tokens, and of nothing else") {
    const auto key = run_key::insecure_from_seed(6);
    const record_seeds seeds(key, 1);
    const std::vector<std::int32_t> tokens{1, 2, 3}, other{1, 2, 4}, shorter{1, 2};
    const auto own = seeds(tokens);
    seeds(other);
    CHECK(seeds(tokens) == own);
    CHECK(record_seeds(key, 1)(tokens) == own);
    for (const auto& one : {seeds(other), seeds(shorter), seeds({}), record_seeds(key, 2)(tokens),
                            record_seeds(run_key::insecure_from_seed(7), 1)(tokens)}) {
        CHECK(one[0] != own[0]);
        CHECK(one[1] != own[1]);
    }
}

TEST_CASE("a unit's group is its own, evenly drawn, and the same after a restart") {
    const scratch_directory dir;
    const auto key = run_key::from_system();
    key.save(dir / "key");
    const auto resumed = run_key::load(dir / "key");
    const unit_groups groups(key, 4), again(resumed, 4), others(run_key::from_system(), 4);
    std::array<double, 4> sizes{};
    int moved = 0, of_another_kind = 0;
    for (std::uint64_t unit = 0; unit < 8000; ++unit) {
        const auto group = groups.find("unit", unit);
        REQUIRE(group < 4);
        REQUIRE(again.find("unit", unit) == group);  // the streams are new, the groups are not
        ++sizes[group];
        moved += others.find("unit", unit) != group ? 1 : 0;
        of_another_kind += groups.find("canary", unit) != group ? 1 : 0;
    }
    for (const double size : sizes) CHECK(std::abs(size - 2000) < 4.5 * std::sqrt(8000 * 0.25 * 0.75));
    for (const int differ : {moved, of_another_kind})
        CHECK(std::abs(differ - 6000) < 4.5 * std::sqrt(8000 * 0.25 * 0.75));
    CHECK(unit_groups(key, 1).find("unit", 7) == 0);
    CHECK(has(refusal([&] { unit_groups(key, 0); }), "a bug in rldp"));
    CHECK(has(refusal([&] { unit_groups(key, 65537); }), "a bug in rldp"));
}

TEST_CASE("a run key is saved for its owner only and read back") {
    const scratch_directory dir;
    const auto key = run_key::from_system();
    key.save(dir / "key");
    struct stat info {};
    REQUIRE(::stat((dir / "key").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(run_key::load(dir / "key").hmac("m") == key.hmac("m"));
    CHECK(has(refusal([&] { run_key::load(dir / "none"); }), "none"));
    std::ofstream(dir / "short") << "too short";
    std::ofstream(dir / "long") << std::string(33, 'x');
    CHECK(has(refusal([&] { run_key::load(dir / "short"); }), "not a run key"));
    CHECK(has(refusal([&] { run_key::load(dir / "long"); }), "not a run key"));
    CHECK(has(refusal([&] { key.save(dir / "none/key"); }), "can't be created"));
    const auto saved = rldp::read_file(dir / "key");
    for (std::size_t at = 0; at < saved.size(); ++at) {
        auto flipped = saved;
        flipped[at] = static_cast<char>(flipped[at] ^ 4);
        rldp::write_file(dir / "flipped", flipped);
        CHECK(has(refusal([&] { run_key::load(dir / "flipped"); }), "damaged"));
    }
}

TEST_CASE("each loading of a run key begins streams of its own, and names data as before") {
    const scratch_directory dir;
    const auto key = run_key::from_system();
    key.save(dir / "key");
    const auto one = run_key::load(dir / "key"), other = run_key::load(dir / "key");
    const auto x = normals(one, 1, 0, 50000);
    for (const auto& y : {normals(other, 1, 0, x.size()), normals(key, 1, 0, x.size())})
        CHECK(std::abs(correlation_score(x, y)) < 4);
    CHECK(x == normals(one, 1, 0, x.size()));
    CHECK(one.hmac("m") == other.hmac("m"));
    // Only where a run gave its guarantee away are streams those of the file.
    const auto seeded = run_key::insecure_from_seed(7);
    seeded.save(dir / "seeded");
    CHECK(normals(run_key::load_insecure(dir / "seeded"), 1, 0, 100) == normals(seeded, 1, 0, 100));
    CHECK(normals(run_key::load(dir / "seeded"), 1, 0, 100) != normals(seeded, 1, 0, 100));
}

TEST_CASE("locked memory comes zeroed, also when it was used before, and a process can forbid its core dumps") {
    struct block {
        std::array<unsigned char, 100> bytes;
    };
    for (int round = 0; round < 3; ++round) {
        const auto made = make_locked<block>();
        for (const auto byte : made->bytes) CHECK(byte == 0);
        made->bytes.fill(7);
    }
    const auto child = ::fork();
    if (child == 0) {
        forbid_core_dumps();
        rlimit limit{};
        const bool none = ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0;
        ::_exit(none && ::prctl(PR_GET_DUMPABLE) == 0 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 0);
}
