// Corpora in files: what comes back is what was read, once for all who ask, and nothing else opens or goes unnoticed.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "base/files.hpp"
#include "data/units/token_cache.hpp"
#include "tests/catch.hpp"
#include "tests/data/units/bytes_of.hpp"
#include "tests/support/owned.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;
using rldp::read_file;

namespace {

namespace fs = std::filesystem;

token_rule file_rule(int threads) {
    return {.encode = encode_bytes, .max_tokens = 40, .threads = threads, .held_out = 9};
}

std::string some_table(std::size_t rows) {
    std::mt19937_64 random(5);
    std::string out = "id,who,note\n";
    for (std::size_t i = 0; i < rows; ++i)
        out += std::to_string(i) + "," + std::to_string(random() % 60) + ",note " + std::to_string(random()) + "\n";
    return out;
}

/// A table of groups with planted secrets.
struct grouped_table {
    explicit grouped_table(const scratch_directory& at)
        : from{at.write("t.csv", some_table(500)), {}, at.write("t.json", R"({"record": "id"})"), "who"} {
        split.canaries = 4;
        split.max_records = 5;
    }
    token_corpus in_memory() const { return load_tokens(from, split, file_rule(2)); }
    auto reader(std::atomic<int>& count) const {
        return [&](token_sink& into) {
            ++count;
            return load_tokens(from, split, file_rule(3), into);
        };
    }
    source from;
    split_rule split;
};

void check_equal(const token_corpus& found, const token_corpus& expected) {
    REQUIRE(found.train.size() == expected.train.size());
    for (std::size_t i = 0; i < expected.train.size(); ++i)
        REQUIRE(owned(found.train[i]).records == owned(expected.train[i]).records);
    REQUIRE(found.held_out.records.size() == expected.held_out.records.size());
    for (std::size_t i = 0; i < expected.held_out.records.size(); ++i) {
        const auto &a = found.held_out.records[i], &b = expected.held_out.records[i];
        CHECK(a.tokens == b.tokens);
        CHECK(a.cut == b.cut);
        CHECK(a.rendered.text == b.rendered.text);
        CHECK(a.rendered.key == b.rendered.key);
        CHECK(a.rendered.group == b.rendered.group);
        REQUIRE(a.rendered.clauses.size() == b.rendered.clauses.size());
        for (std::size_t c = 0; c < b.rendered.clauses.size(); ++c) {
            const auto &one = a.rendered.clauses[c], &other = b.rendered.clauses[c];
            CHECK(one.column == other.column);
            CHECK((one.whole.begin == other.whole.begin && one.whole.end == other.whole.end));
            CHECK(std::equal(one.values.begin(), one.values.end(), other.values.begin(), other.values.end(),
                             [](auto x, auto y) { return x.begin == y.begin && x.end == y.end; }));
        }
    }
    CHECK(found.held_out.columns == expected.held_out.columns);
    CHECK(found.held_out.values == expected.held_out.values);
    CHECK(found.records == expected.records);
    CHECK(found.cut == expected.cut);
    CHECK(found.planted == expected.planted);
    CHECK(found.warnings == expected.warnings);
    CHECK(found.digest == expected.digest);
    CHECK(found.split == expected.split);
    CHECK(found.sketches == expected.sketches);
    CHECK(found.train_ids == expected.train_ids);
    CHECK(found.train_ids.size() == found.train.size());
    CHECK(expected.sketches.size() == 3);  // rows, record keys, and persons
}

std::vector<fs::path> corpora_in(const fs::path& shelf) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(shelf))
        if (entry.path().extension() == ".corpus") out.push_back(entry.path());
    return out;
}

void flip(const fs::path& path, std::uintmax_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
}

/// How many units say that they are damaged; the others are as expected, where that is given.
std::size_t damaged_units(const token_store& in, const token_store* expected) {
    std::size_t out = 0;
    for (std::size_t u = 0; u < in.size(); ++u) try {
            const auto found = owned(in[u]).records;
            if (expected) REQUIRE(found == owned((*expected)[u]).records);
        } catch (const rldp::error& e) {
            CHECK(has(std::string(e.what()), "damaged where a drawn record lies"));
            ++out;
        }
    return out;
}

unsigned read_mode(const fs::path& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
}

}  // namespace

TEST_CASE("a corpus comes back from its file as it was read, and is read once") {
    const scratch_directory at;
    const grouped_table of(at);
    std::atomic<int> read{0};
    const auto expected = of.in_memory();
    REQUIRE(expected.planted.size() > 0);
    REQUIRE(expected.held_out.records.size() > 9);  // units have several
    {
        token_cache shelf(at / "new/shelf");
        check_equal(shelf.get("facts", false, of.reader(read)), expected);
    }
    token_cache shelf(at / "new/shelf");
    check_equal(shelf.get("facts", false, of.reader(read)), expected);
    CHECK(read == 1);
    CHECK(corpora_in(at / "new/shelf").size() == 1);
    // more units join behind those of the file
    auto store = shelf.get("facts", false, of.reader(read)).train;
    const auto size = store.size();
    store.push_back({{{8, 9}}, {}});
    store.push_back({{}, 3});
    REQUIRE(store.size() == size + 2);
    CHECK(owned(store[size]).records == std::vector<std::vector<std::int32_t>>{{8, 9}});
    CHECK(store[size + 1].gradient_canary == 3);
    CHECK_FALSE(store[0].gradient_canary);
    CHECK(owned(store[size - 1]).records == owned(expected.train[size - 1]).records);
}

TEST_CASE("whoever asks at the same time waits for one reading") {
    const scratch_directory at;
    const grouped_table of(at);
    std::atomic<int> read{0};
    const auto expected = of.in_memory();
    std::vector<token_corpus> found(6);
    std::vector<std::thread> all;
    for (auto& into : found)
        all.emplace_back([&] { into = token_cache(at / "shelf").get("facts", true, of.reader(read)); });
    for (auto& one : all) one.join();
    CHECK(read == 1);
    for (const auto& one : found) check_equal(one, expected);
}

TEST_CASE("a shelf and its files are the owner's alone, and hold neither tokens nor texts in clear") {
    const scratch_directory at;
    const grouped_table of(at);
    std::atomic<int> read{0};
    token_cache shelf(at / "shelf");
    const auto corpus = shelf.get("facts", false, of.reader(read));
    CHECK(read_mode(at / "shelf") == 0700);
    for (const auto& entry : fs::directory_iterator(at / "shelf")) CHECK(read_mode(entry.path()) == 0600);
    const auto bytes = read_file(corpora_in(at / "shelf").front());
    CHECK(bytes.find("note ") == std::string::npos);
    for (std::size_t u = 0; u < corpus.train.size(); ++u)
        for (const auto& record : corpus.train[u].records) {
            const std::string plain(reinterpret_cast<const char*>(record.data()), 4 * std::size_t{4});
            REQUIRE(bytes.find(plain) == std::string::npos);
        }
    for (const auto& [id, secret] : corpus.planted) CHECK(bytes.find(secret) == std::string::npos);
    fs::create_directory(at / "open");
    fs::permissions(at / "open", fs::perms(0755));
    CHECK(has(refusal([&] { token_cache{at / "open"}; }), "chmod 700"));
    CHECK(read_mode(at / "open") == 0755);
    fs::permissions(at / "open", fs::perms(0700));
    fs::create_directory_symlink(at / "open", at / "link");
    CHECK_NOTHROW(token_cache{at / "link"});
    CHECK(has(refusal([&] { token_cache{at.write("file", "x")}; }), "is no directory"));
    fs::create_directory_symlink(at / "nowhere", at / "dangling");
    CHECK(has(refusal([&] { token_cache{at / "dangling"}; }), "leads to none"));
}

TEST_CASE("other facts are another corpus, and a shelf of one keeps the last") {
    const scratch_directory at;
    const grouped_table of(at);
    std::atomic<int> read{0};
    token_cache shelf(at / "shelf");
    shelf.get("a", false, of.reader(read));
    const auto kept = shelf.get("b", false, of.reader(read));
    CHECK(corpora_in(at / "shelf").size() == 2);
    at.write("shelf/killed.partial", "half");
    shelf.get("c", true, of.reader(read));
    CHECK_FALSE(fs::exists(at / "shelf/killed.partial"));
    CHECK(read == 3);
    CHECK(corpora_in(at / "shelf").size() == 1);
    check_equal(kept, of.in_memory());  // what is open stays open
}

TEST_CASE("a damaged corpus is read again, or told when it is drawn") {
    const scratch_directory at;
    const grouped_table of(at);
    const auto expected = of.in_memory();
    std::atomic<int> read{0};
    token_cache shelf(at / "shelf");
    const auto get = [&] { return shelf.get("facts", false, of.reader(read)); };
    get();
    const auto path = corpora_in(at / "shelf").front();
    const auto whole = read_file(path);
    const auto size = whole.size();
    // every byte of the header, and some of index and head
    std::vector<std::uintmax_t> places{size - 1, size - 200};
    for (std::uintmax_t i = 0; i < 104; ++i) places.push_back(i);
    for (std::uintmax_t i = 65536; i < size; i += 997) places.push_back(i);
    for (const auto place : places) {
        const auto before = read.load();
        flip(path, place);
        check_equal(get(), expected);
        CHECK(read == before + 1);
    }
    for (const auto cut : {std::uintmax_t{0}, std::uintmax_t{50}, std::uintmax_t{70'000}, size - 1}) {
        const auto before = read.load();
        fs::resize_file(path, cut);
        check_equal(get(), expected);
        CHECK(read == before + 1);
    }
    // records are looked at when they are drawn
    const auto before = read.load();
    flip(path, 4096);
    CHECK(damaged_units(get().train, &expected.train) == 1);
    CHECK(read == before);
    CHECK_FALSE(fs::exists(path));
    check_equal(get(), expected);  // whoever comes next makes it again
    CHECK(read == before + 1);
}

TEST_CASE("another key opens nothing, nor does a record in another's place") {
    const scratch_directory at;
    const grouped_table of(at);
    const corpus_key key{1}, other{2};
    const auto path = at / "c";
    {
        corpus_writer writer(path, key);
        writer.finish(load_tokens(of.from, of.split, file_rule(1), writer));
    }
    CHECK(corpus_file::open(path, key));
    CHECK_FALSE(corpus_file::open(path, other));
    CHECK_FALSE(corpus_file::open(at / "absent", key));
    {
        corpus_writer unfinished(at / "u", key);
        load_tokens(of.from, of.split, file_rule(1), unfinished);
        CHECK(fs::exists(at / "u"));
    }
    CHECK_FALSE(fs::exists(at / "u"));
    // two records of nine tokens each, exchanged
    auto how = file_rule(1);
    how.max_tokens = 9;
    {
        corpus_writer writer(at / "equal", key);
        writer.finish(load_tokens(of.from, of.split, how, writer));
    }
    auto bytes = read_file(at / "equal");
    constexpr std::ptrdiff_t begin = 4096, sealed = 9 * 4 + 16;
    std::swap_ranges(bytes.begin() + begin, bytes.begin() + begin + sealed, bytes.begin() + begin + sealed);
    rldp::write_file(at / "equal", bytes);
    const auto corpus = corpus_file::open(at / "equal", key);
    REQUIRE(corpus);
    fs::copy(path, at / "another");
    CHECK_FALSE(corpus_file::open(at / "another", key));
    CHECK(damaged_units(corpus->train, nullptr) >= 1);
}

TEST_CASE("an erased shelf is gone, what was moved stays open") {
    const scratch_directory at;
    const grouped_table of(at);
    std::atomic<int> read{0};
    token_cache shelf(at / "beside");
    const auto corpus = shelf.get("facts", true, of.reader(read));
    fs::create_directory(at / "run");
    shelf.move_to(at / "run/corpus");
    CHECK_FALSE(fs::exists(at / "beside"));
    CHECK(token_cache(at / "run/corpus").get("facts", true, of.reader(read)).digest == corpus.digest);
    CHECK(read == 1);
    CHECK(erase_token_cache(at / "run/corpus"));
    CHECK_FALSE(fs::exists(at / "run/corpus"));
    CHECK_FALSE(erase_token_cache(at / "run/corpus"));
    check_equal(corpus, of.in_memory());
}

TEST_CASE("facts change with whatever a corpus depends on") {
    const scratch_directory at;
    const grouped_table of(at);
    const auto facts = list_corpus_facts(of.from, of.split, file_rule(1));
    CHECK(facts == list_corpus_facts(of.from, of.split, file_rule(8)));  // not with the machine
    const auto differs = [&](const auto& change) {
        auto from = of.from;
        auto split = of.split;
        auto how = file_rule(1);
        change(from, split, how);
        return list_corpus_facts(from, split, how) != facts;
    };
    CHECK(differs([](auto& from, auto&, auto&) { from.group.reset(); }));
    CHECK(differs([&](auto& from, auto&, auto&) { from.narrative = at.write("u.json", R"({"record": "id"})"); }));
    CHECK(differs([&](auto& from, auto&, auto&) { from.ids_mapping = at.write("ids.csv", "x"); }));
    CHECK(differs([&](auto& from, auto&, auto&) { from.path = at.write("v.csv", some_table(500)); }));
    CHECK(differs([](auto& from, auto&, auto&) { from.path = "synthetic:500"; }));
    CHECK(differs([](auto&, auto& split, auto&) { split.how = rldp::split_kind::exact; }));
    CHECK(differs([](auto&, auto& split, auto&) { ++split.seed; }));
    CHECK(differs([](auto&, auto& split, auto&) { ++split.canaries; }));
    CHECK(differs([](auto&, auto& split, auto&) { --split.canary_length; }));
    CHECK(differs([](auto&, auto& split, auto&) { ++split.max_records; }));
    CHECK(differs([](auto&, auto& split, auto&) { split.attack += 0.01; }));
    CHECK(differs([](auto&, auto& split, auto&) { split.eval += 0.01; }));
    CHECK(differs([](auto&, auto& split, auto&) { split.population = 10; }));
    CHECK(differs([](auto&, auto& split, auto&) { split.shadow = shadow_rule{3, 0}; }));
    CHECK(differs([](auto&, auto&, auto& how) { ++how.max_tokens; }));
    CHECK(differs([](auto&, auto&, auto& how) { how.keep_tail = true; }));
    CHECK(differs([](auto&, auto&, auto& how) { how.mark_training = true; }));
    CHECK(differs([](auto&, auto&, auto& how) { how.held_out = 8; }));
    CHECK(differs([](auto&, auto&, auto& how) { how.identity = "another tokenizer"; }));
    // a row was changed in place, and the time set back
    const auto time = fs::last_write_time(of.from.path);
    flip(of.from.path, 30);
    fs::last_write_time(of.from.path, time);
    CHECK(list_corpus_facts(of.from, of.split, file_rule(1)) != facts);
    at.write("IDs_mapping.csv", "a code book");
    CHECK(differs([](auto&, auto&, auto&) {}));
}
