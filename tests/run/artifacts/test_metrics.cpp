#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/error.hpp"
#include "run/artifacts/metrics.hpp"
#include "tests/catch.hpp"

using namespace rldp::eval;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::filesystem::path written(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::temp_directory_path() / ("rldp_test_" + name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

std::string find_message(const std::filesystem::path& path) {
    try {
        read_metrics(path);
    } catch (const rldp::error& reason) {
        return reason.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a metrics line has the documented keys") {
    metrics_line line;
    line.step = 7;
    line.noise_multiplier = 0.5;
    line.radii = {0.1, 0.25};
    line.progress = {1.5, 6};
    CHECK(to_json(line) ==
          R"({"step":7,"noise_multiplier":0.5,"radii":[0.1,0.25],"progress_epsilon":1.5,"progress_step":6})");
    line.loss_released = 2.25;
    line.eval_perplexity = 12;
    CHECK(to_json(line) == R"({"step":7,"loss_released":2.25,"noise_multiplier":0.5,"radii":[0.1,0.25],)"
                           R"("progress_epsilon":1.5,"progress_step":6,"eval_perplexity":12.0})");
    metrics_line gone;
    gone.step = 8;
    gone.lost = true;
    gone.ledger = "00ff";
    CHECK(to_json(gone) == R"({"step":8,"lost":true,"ledger":"00ff"})");
    CHECK(parse_metrics_line(to_json(gone)).lost);
    CHECK(parse_metrics_line(to_json(gone)).ledger == "00ff");
}

TEST_CASE("numbers come back bit for bit, infinite and NaN ones as strings") {
    metrics_line line;
    line.step = 1;
    line.noise_multiplier = 0.1 + 0.2;
    line.radii = {1.0 / 3, infinity, -infinity};
    line.progress = {infinity, 3};
    line.loss_released = std::nan("");
    line.eval_perplexity = infinity;
    const auto text = to_json(line);
    CHECK(text.find("\"inf\"") != std::string::npos);
    CHECK(text.find("\"-inf\"") != std::string::npos);
    CHECK(text.find("\"nan\"") != std::string::npos);
    const auto back = parse_metrics_line(text);
    CHECK(back.noise_multiplier == line.noise_multiplier);
    CHECK(back.radii == line.radii);
    CHECK(back.progress.epsilon == infinity);
    CHECK(std::isnan(back.loss_released.value()));
    CHECK(back.eval_perplexity.value() == infinity);
}

TEST_CASE("what a prepared controller set comes back bit for bit, and an evaluation leaves it there") {
    metrics_line line;
    line.step = 9;
    line.noise_multiplier = 0.5;
    line.radii = {0.1, 0.1};
    line.steered = {1.0 / 3, {1.0 / 7, 3}, 0.9};
    const auto text = to_json(line);
    CHECK(to_json(parse_metrics_line(text)) == text);
    const auto found = parse_metrics_line(text).steered;
    REQUIRE(found);
    CHECK(found->lr_factor == 1.0 / 3);
    CHECK(found->rates[0] == 1.0 / 7);
    CHECK(found->trust == 0.9);
    const auto path = written("steered.jsonl",
                              with_checksum(text) + "\n" + with_checksum(R"({"step":9,"eval_perplexity":4.0})") + "\n");
    const auto lines = read_metrics(path);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].eval_perplexity == 4.0);
    CHECK(lines[0].steered);
}

TEST_CASE("an evaluation that arrives later joins its step") {
    metrics_line step;
    step.step = 2;
    step.noise_multiplier = 0.7;
    step.radii = {0.3};
    step.progress = {0.4, 2};
    step.loss_released = 1.5;
    auto next = step;
    next.step = 3;
    metrics_line evaluation;
    evaluation.step = 2;
    evaluation.eval_perplexity = 9.5;
    step.ledger = "aa";
    CHECK(to_json(evaluation) == R"({"step":2,"eval_perplexity":9.5})");
    const auto line = [](const metrics_line& of) { return with_checksum(to_json(of)) + "\n"; };
    const auto torn = line(next).substr(0, 20);
    const auto path = written("metrics.jsonl", line(step) + line(next) + line(evaluation) + torn);
    const auto lines = read_metrics(path);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].step == 2);
    CHECK(lines[0].noise_multiplier == 0.7);
    CHECK(lines[0].radii == step.radii);
    CHECK(lines[0].progress.epsilon == 0.4);
    CHECK(lines[0].loss_released == 1.5);
    CHECK(lines[0].eval_perplexity == 9.5);
    CHECK(lines[0].ledger == "aa");
    CHECK_FALSE(lines[1].eval_perplexity);
    std::filesystem::remove(path);
}

// A file is read in pieces of 64 KiB: lines lie across their ends, and one is longer than a piece.
TEST_CASE("a log of many lines reads back as it was written, in the order of steps") {
    std::vector<metrics_line> lines;
    for (std::int64_t step = 0; step < 3000; ++step) {
        auto& line = lines.emplace_back();
        line.step = step;
        line.loss_released = 1.0 / static_cast<double>(step + 1);
        line.noise_multiplier = 0.5;
        line.radii.assign(step == 1500 ? 20000 : static_cast<std::size_t>(1 + step % 7), 0.1);
    }
    const auto path = std::filesystem::temp_directory_path() / "rldp_test_long.jsonl";
    write_metrics(path, lines);
    const auto read = read_metrics(path);
    REQUIRE(read.size() == lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (to_json(read[i]) != to_json(lines[i])) FAIL("line " << i + 1);
    std::int64_t number = 0;
    each_line(path, [&](const auto& one) { CHECK(one.number == ++number); });
    CHECK(number == 3000);
    std::swap(lines[10], lines[2000]);
    write_metrics(path, lines);
    CHECK(read_metrics(path)[10].step == 10);
    std::filesystem::remove(path);
}

// The expected sum is Python's zlib.crc32().
TEST_CASE("a metrics line carries its checksum, and no changed bit gets past it") {
    const auto line = with_checksum(R"({"step":3,"loss_released":1.25})");
    CHECK(line == R"({"step":3,"loss_released":1.25,"crc32":"c6148ff2"})");
    CHECK(without_checksum(line) == R"({"step":3,"loss_released":1.25})");
    for (std::size_t byte = 0; byte < line.size(); ++byte)
        for (int bit = 0; bit < 8; ++bit) {
            auto changed = line;
            changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
            INFO(changed);
            CHECK_THROWS_AS(without_checksum(changed), rldp::error);
        }
    CHECK_THROWS_AS(without_checksum(R"({"step":3})"), rldp::error);
    CHECK_THROWS_AS(without_checksum(""), rldp::error);
}

TEST_CASE("a damaged metrics line is refused with its number") {
    const auto path = written("bad.jsonl", with_checksum("{\"step\":1}") + "\n" + with_checksum("{\"step\":") + "\n");
    CHECK(find_message(path).find(path.string() + ":2: ") == 0);
    CHECK_THROWS_AS(parse_metrics_line("{}"), rldp::error);
    CHECK_THROWS_AS(parse_metrics_line(R"({"step":-1})"), rldp::error);
    CHECK_THROWS_AS(parse_metrics_line(R"({"step":1e31})"), rldp::error);
    CHECK_THROWS_AS(parse_metrics_line(R"({"step":2.5})"), rldp::error);
    CHECK_THROWS_AS(parse_metrics_line(R"({"step":1,"noise_multiplier":"much"})"), rldp::error);
    CHECK_THROWS_AS(parse_metrics_line(R"({"step":1,"ledger":7})"), rldp::error);
    CHECK_THROWS_AS(read_metrics("/nowhere/metrics.jsonl"), rldp::error);
    std::filesystem::remove(path);
}
