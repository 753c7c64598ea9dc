// Tokens per second on one core, on the narratives of generated encounters. Prints JSON.
//
//   build/bench/bench_tokenizer config/tiny-gpt2 --narratives 5000 --repeats 5
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "bench/child.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "tests/support/corpus.hpp"

namespace {

using namespace rldp;

std::vector<std::string> narratives(int count, const std::string& narrative) {
    data::split_rule everything_trains;
    everything_trains.attack = everything_trains.eval = 0;
    const auto corpus = data::load_corpus({fmt::format("synthetic:{}", count), {}, narrative, {}}, everything_trains);
    std::vector<std::string> out;
    for (const auto& unit : corpus.train) out.insert(out.end(), unit.records.begin(), unit.records.end());
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App program("Tokens per second on one core, as JSON");
    std::string directory, narrative = "config/narrative-uci.json";
    int count = 5000, repeats = 5;
    program.add_option("directory", directory, "with tokenizer.json, vocab.json and merges.txt, or tokenizer.model")
        ->required();
    program.add_option("--narrative", narrative, "template")->capture_default_str();
    program.add_option("--narratives", count, "texts")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    program.add_option("--repeats", repeats, "passes over all texts")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    CLI11_PARSE(program, argc, argv);
    try {
        const auto words = models::tokenizer::load(directory);
        const auto texts = narratives(count, narrative);
        std::size_t bytes = 0, tokens = 0;
        for (const auto& text : texts) bytes += text.size();
        std::vector<double> spans;
        for (int i = 0; i < repeats; ++i) {
            tokens = 0;
            const auto begin = std::chrono::steady_clock::now();
            for (const auto& text : texts) tokens += words->encode(text).size();
            spans.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        }
        const double span = bench::median(spans);
        fmt::print("{}\n",
                   nlohmann::ordered_json{{"directory", directory},
                                          {"texts", texts.size()},
                                          {"bytes", bytes},
                                          {"tokens", tokens},
                                          {"seconds", span},
                                          {"million_tokens_per_second", static_cast<double>(tokens) / span / 1e6},
                                          {"mebibytes_per_second", static_cast<double>(bytes) / span / (1 << 20)}}
                       .dump(2));
        return 0;
    } catch (const error& e) {
        fmt::print(stderr, "bench: {}\n", e.what());
        return static_cast<int>(e.code());
    }
}
