// Words that nobody else uses stand in every cell of random tables; whatever becomes of a run on such a table, nothing
// that it shows may hold one, nor four tokens in a row of a record. RLDP_RUNS runs (scripts/fuzz_public.sh), RLDP_SEED
// repeats what a seed did, up to timing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/files.hpp"
#include "data/units/corpus.hpp"
#include "models/tokenizer/tokenizer.hpp"
#include "tests/actors/fixtures.hpp"
#include "tests/catch.hpp"
#include "tests/noninterference/configurations.hpp"
#include "tests/noninterference/program.hpp"

using namespace rldp;
using namespace rldp::testing;
using nlohmann::json;

namespace {

/// Letters of the made-up words: no three of them follow each other anywhere in the program's own output.
constexpr std::string_view rare = "qxzjvk";

std::string made_up(generator& random) {
    std::string out;
    for (auto length = 8 + below(random, 7); length > 0; --length) out += rare[below(random, rare.size())];
    return out;
}

/// What a table holds, cell by cell, and how it is written.
struct private_table {
    layout how;
    std::string bytes;
    std::vector<std::string> cells;
};

constexpr const char* wide_template = R"({"record": "id", "person": "patient", "leave_out": ["remark"],
    "opening": "The patient has the following profile.", "missing": ["?", ""], "values": {"dose": {"Up": "increased"}},
    "columns": {"note": {}, "weight": {"range": "it lies between {low} and {high}."}, "dose": {"values": "dose"},
                "stay": {"count": {"many": "the stay took {value} days."}}, "readmitted": {"sentences": {"NO": "not again."}}}})";

/// A cell of made-up words, often with characters that readers, terminals and pages trip over.
std::string cell(generator& random) {
    static const std::vector<std::string> odd{
        " ",       ",",        "\"", "\n", "\t", "<b>", "&", "\xC3\xA9", "\xE2\x80\xAE",
        "{value}", "\x1b[31m", "%s", "\\", "'",  ";"};
    auto out = made_up(random);
    if (below(random, 3) == 0) out += one_of(odd, random) + made_up(random);
    return out;
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

/// One place of the bytes is made wrong, in one of the ways that readers refuse.
void damage(private_table& of, generator& random) {
    auto& bytes = of.bytes;
    const auto at = bytes.find('\n', below(random, bytes.size()));
    const auto line = at == std::string::npos ? bytes.size() : at + 1;
    const auto again = [&] {  // a line that is there already: a record key twice
        const auto begin = bytes.rfind('\n', bytes.size() - 2) + 1;
        return bytes.substr(begin);
    };
    const std::vector<std::string> wrong{
        "\"" + made_up(random) + "\n",
        made_up(random) + "\n",
        made_up(random) + "\"" + made_up(random) + ",\n",
        made_up(random) + "\xFF" + made_up(random) + "\n",
        "," + made_up(random) + ",,,,,,,\n",
        "{\"text\": \"" + made_up(random) + "\n",
        "{\"txt\": \"" + made_up(random) + "\"}\n",
        "{\"text\": \"" + made_up(random) + "\", \"patient\": [\"" + made_up(random) + "\"]}\n",
        "[\"" + made_up(random) + "\"]\n",
        "{\"text\": \"\", \"patient\": \"" + made_up(random) + "\"}\n",
        quoted(made_up(random)) + "\n",
        made_up(random) + "\r" + made_up(random) + "\n",
        again()};
    bytes.insert(line, one_of(wrong, random));
}

private_table random_table(generator& random, std::size_t records) {
    private_table out{random_layout(random), {}, {}};
    const auto keep = [&](std::string text) { return out.cells.emplace_back(std::move(text)); };
    if (out.how.extension == "csv") out.bytes = "id,patient,remark,note,weight,dose,stay,readmitted\n";
    const bool wrong_kind = below(random, 16) == 0;  // a word where a count or a range belongs
    auto patient = cell(random);
    for (std::size_t i = 0; i < records; ++i) {
        if (below(random, 3) > 0) patient = cell(random);
        keep(patient);
        if (out.how.extension == "csv") {
            for (const auto& text : {keep(cell(random)), patient, keep(cell(random)), keep(cell(random))})
                out.bytes += quoted(text) + ",";
            out.bytes +=
                (wrong_kind && i == records / 2 ? quoted(keep(cell(random))) : fmt::format("[{}-{})", i, i + 5)) + ",";
            out.bytes += quoted(keep(cell(random))) + "," +
                         (wrong_kind && i == records / 3 ? quoted(keep(cell(random))) : fmt::format("{}", i));
            out.bytes += "," + quoted(keep(cell(random))) + "\n";
        } else if (out.how.extension == "jsonl") {
            out.bytes += json{{"text", keep(cell(random) + " " + cell(random))},
                              {"patient", patient},
                              {"remark", keep(cell(random))}}
                             .dump() +
                         "\n";
        } else {
            auto text = cell(random) + " " + cell(random);
            std::replace(text.begin(), text.end(), '\n', ' ');
            out.bytes += keep(std::move(text)) + "\n";
        }
    }
    if (below(random, 5) == 0) damage(out, random);
    return out;
}

bool is_rare(char c) {
    return rare.find(c) != std::string_view::npos;
}

/// Whether a piece of text could come from nowhere but the made-up words. One letter again and again is also what a
/// model under much noise writes into its samples.
bool tells(const std::string& text) {
    if (text.empty() || text.find_first_not_of(text.front()) == std::string::npos) return false;
    std::size_t run = 0;
    for (const char c : text) {
        run = is_rare(c) ? run + 1 : 0;
        if (run == 3) return text.size() >= 4;
    }
    return false;
}

/// What must not show: words, and four tokens in a row, as text and as numbers.
struct forbidden {
    std::set<std::string> texts, numbers;

    void add(const std::string& text, const models::tokenizer& tokens) {
        std::string word;
        for (const char c : text + " ") {
            if (is_rare(c)) {
                word += c;
                continue;
            }
            if (tells(word)) texts.insert(word);
            word.clear();
        }
        const auto ids = tokens.encode(text);
        for (std::size_t i = 0; i + 4 <= ids.size(); ++i) {
            const std::vector<std::int32_t> four(ids.begin() + static_cast<std::ptrdiff_t>(i),
                                                 ids.begin() + static_cast<std::ptrdiff_t>(i) + 4);
            if (const auto shown = tokens.decode(four); tells(shown)) {
                texts.insert(shown);
                numbers.emplace(reinterpret_cast<const char*>(four.data()), 4 * sizeof(std::int32_t));
            }
        }
    }
};

/// What of it is in the bytes of a file; in tensors, where any few bytes can be by chance, only the longer pieces.
class finder {
  public:
    explicit finder(forbidden what) : what_(std::move(what)) {
        for (const auto& text : what_.texts) pieces_[find_start(text)].emplace_back(text, text);
        for (const auto& four : what_.numbers) pieces_[find_start(four)].emplace_back(four, "four token numbers");
    }

    std::set<std::string_view> found_in(std::string_view bytes, bool tensors) const {
        std::set<std::string_view> out;
        for (std::size_t at = 0; at + sizeof(start) <= bytes.size(); ++at) {
            const auto known = pieces_.find(find_start(bytes.substr(at)));
            if (known == pieces_.end()) continue;
            for (const auto& [piece, name] : known->second)
                if ((!tensors || piece.size() >= 8) && bytes.substr(at).starts_with(piece)) out.insert(name);
        }
        return out;
    }

  private:
    using start = std::uint32_t;  ///< a piece's first bytes; none is shorter
    static start find_start(std::string_view bytes) {
        start out = 0;
        std::memcpy(&out, bytes.data(), sizeof out);
        return out;
    }

    forbidden what_;
    std::unordered_map<start, std::vector<std::pair<std::string_view, std::string_view>>> pieces_;  ///< with a name
};

struct tally {
    std::int64_t runs = 0, files = 0;
    std::size_t bytes = 0, pieces = 0;
    std::map<int, std::int64_t> endings;
};

class search {
  public:
    explicit search(std::uint64_t seed) : random_(seed), tokens_(models::tokenizer::load("config/tiny-gpt2")) {}

    /// A random run in a fresh folder; a line for everything that shows.
    std::vector<std::string> one_run();
    const tally& count() const { return count_; }

  private:
    json configuration(const private_table& on, const std::filesystem::path& folder, std::size_t records);
    call first_call(const std::filesystem::path& folder);
    void say(const call& what);
    void scan(const std::string& name, const std::string& bytes);

    generator random_;
    std::unique_ptr<const models::tokenizer> tokens_;
    std::optional<finder> finder_;
    std::vector<std::string> shown_;
    tally count_;
};

json search::configuration(const private_table& on, const std::filesystem::path& folder, std::size_t records) {
    // Most runs are of the cheapest kind: it is the ways to the outside that differ, not the arithmetic.
    auto out = below(random_, 8) == 0 ? random_configuration(random_, records) : short_run(records, "static");
    out["train"]["steps"] = 1 + below(random_, 2);
    out["train"]["warmup"] = 0;
    out["train"]["expected_batch_size"] = 1 + below(random_, 3);
    out["train"]["eval_records"] = 1;
    out["privacy"]["accountant"] = "rdp";
    out["data"]["path"] = (folder / on.how.file("table")).string();
    if (on.how.extension == "csv") out["data"]["template"] = (folder / "template.json").string();
    if (on.how.grouped) out["privacy"]["unit"] = {{"group", "patient"}};
    if (below(random_, 4) == 0) out["privacy"].erase("population");
    if (below(random_, 8) == 0) out["data"]["canaries"] = below(random_, 5);
    if (below(random_, 16) == 0) {
        out["data"]["split"] = "exact";
        out["eval"]["publish"] = "none";
    }
    if (below(random_, 16) == 0) out["public"]["path"] = out["data"]["path"];
    if (below(random_, 16) == 0) out["audit"]["canaries"] = 4;
    return out;
}

call search::first_call(const std::filesystem::path& folder) {
    if (below(random_, 10) == 0) return {.arguments = {"check", "config.json"}, .directory = folder};
    call out{.arguments = {"run", "config.json", "--out", "run"}, .directory = folder};
    if (below(random_, 3) == 0) out.arguments.emplace_back("--json");
    switch (below(random_, 8)) {
        case 0:
            out.file_limit = below(random_, 1 << 16);  // the disk is full
            break;
        case 1:
            out.signal = below(random_, 2) == 0 ? SIGINT : SIGKILL;
            out.after = std::chrono::microseconds(below(random_, 200'000));
            break;
    }
    return out;
}

/// The name of a directory that is being made, in the message of a full disk, ends in six letters by chance, which may
/// be rare ones.
std::string without_chance(const std::string& text) {
    static const std::regex nascent(R"(run\.partial-[a-z]{6}/)");
    return std::regex_replace(text, nascent, "run.partial/");
}

void search::scan(const std::string& name, const std::string& bytes) {
    ++count_.files;
    count_.bytes += bytes.size();
    for (const auto piece : finder_->found_in(bytes, name.ends_with(".safetensors")))
        shown_.push_back(fmt::format("{} holds \"{}\"", name, piece));
}

void search::say(const call& what) {
    const auto said = rldp_says(what);
    ++count_.endings[said.status];
    // 1: nothing more could be written to standard output either.
    const bool documented = said.status == 0 || said.status == 2 || said.status == 130 ||
                            (said.status == 1 && what.file_limit) || (said.status == 137 && what.signal == SIGKILL);
    if (!documented) shown_.push_back(fmt::format("ended with status {}: {}{}", said.status, said.out, said.err));
    for (const auto& [name, text] : {std::pair("stdout", said.out), std::pair("stderr", said.err)}) {
        const auto before = shown_.size();
        scan(name, without_chance(text));
        if (shown_.size() > before) shown_.push_back(text);
    }
}

std::vector<std::string> search::one_run() {
    // Its path is shown, and is nobody's record: by chance it would hold a piece of one in some of 10,000 runs.
    std::optional<scratch_directory> scratch;
    do scratch.emplace();
    while (scratch->path().filename().string().find_first_of(rare) != std::string::npos);
    const auto folder = *scratch / "";
    const auto records = 30 + below(random_, 20);
    const auto on = random_table(random_, records);
    write_file(folder / on.how.file("table"), on.bytes);
    write_file(folder / "template.json", wide_template);
    const auto config = configuration(on, folder, records);
    write_file(folder / "config.json", config.dump());
    forbidden what;
    for (const auto& text : on.cells) what.add(text, *tokens_);
    what.add(on.bytes, *tokens_);  // also what damage brought in
    count_.pieces += what.texts.size() + what.numbers.size();
    finder_.emplace(std::move(what));
    shown_.clear();
    const auto first = first_call(folder);
    say(first);
    if (first.signal != 0 && std::filesystem::exists(folder / "run"))
        say({.arguments = {"run", "--resume", "run"}, .directory = folder});
    for (const auto& [name, bytes] : files_below(folder / "run/public")) scan(name, bytes);
    ++count_.runs;
    if (!shown_.empty()) shown_.push_back(config.dump());
    return shown_;
}

}  // namespace

TEST_CASE("no word of a record and no four of its tokens stand in anything public", "[full]") {
    const auto runs = setting("RLDP_RUNS", 60);
    const auto seed = static_cast<std::uint64_t>(setting("RLDP_SEED", 1));
    search all(seed);
    const auto began = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < runs; ++i) {
        INFO("RLDP_SEED=" << seed << ", run " << i);
        const auto shown = all.one_run();
        INFO(fmt::format("{}", fmt::join(shown, "\n")));
        CHECK(shown.empty());
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const auto& count = all.count();
    std::string endings;
    for (const auto& [status, times] : count.endings) endings += fmt::format(", status {} {} times", status, times);
    fmt::print("RLDP_SEED={}: {} runs, {} files and streams, {} bytes searched for {} pieces{}; {:.0f} s\n", seed,
               count.runs, count.files, count.bytes, count.pieces, endings, took.count());
    CHECK(count.endings.count(0) == 1);
    CHECK(count.endings.count(2) == 1);
}

TEST_CASE("the search finds what is there") {
    const auto tokens = models::tokenizer::load("config/tiny-gpt2");
    forbidden what;
    what.add("the note is qxzjvkqx", *tokens);
    const finder pieces(what);
    CHECK_FALSE(pieces.found_in("{\"a\": \"qxzjvkqx\"}", false).empty());
    const auto ids = tokens->encode("the note is qxzjvkqx");
    REQUIRE(ids.size() >= 8);
    const std::vector<std::int32_t> four(ids.end() - 4, ids.end());
    CHECK_FALSE(pieces.found_in("x" + tokens->decode(four) + "y", false).empty());
    CHECK_FALSE(pieces.found_in(std::string(reinterpret_cast<const char*>(four.data()), 16), true).empty());
    CHECK(pieces.found_in("{\"a\": \"the note is this\"}", false).empty());
}
