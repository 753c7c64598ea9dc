// The merge engine against the plainest possible one, on random vocabularies.
#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "models/tokenizer/bpe.hpp"
#include "tests/models/tokenizer/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::test;

namespace {

struct vocabulary {
    std::vector<std::string> pieces;
    std::vector<models::bpe::merge> merges;
    models::text_map<std::int32_t> ids() const {
        models::text_map<std::int32_t> out;
        for (std::size_t i = 0; i < pieces.size(); ++i) out[pieces[i]] = static_cast<std::int32_t>(i);
        return out;
    }
};

/// Letters and `count` merges of pieces that are there already.
vocabulary random_vocabulary(std::mt19937& random, const std::vector<std::string>& letters, int count,
                             bool inner_marks) {
    vocabulary out{letters, {}};
    for (int i = 0; i < count; ++i) {
        const auto left = random() % out.pieces.size();
        const auto right = random() % out.pieces.size();
        const auto joined = out.pieces[left] + out.pieces[right];
        const bool inner = out.pieces[right].starts_with("▁") && !out.pieces[left].ends_with("▁");
        if (inner && !inner_marks) continue;
        if (joined.size() > 24 || std::find(out.pieces.begin(), out.pieces.end(), joined) != out.pieces.end()) continue;
        out.merges.push_back({static_cast<std::int32_t>(left), static_cast<std::int32_t>(right),
                              static_cast<std::int32_t>(out.pieces.size()),
                              static_cast<std::int32_t>(out.merges.size())});
        out.pieces.push_back(joined);
    }
    return out;
}

/// Merges the leftmost pair of the lowest rank until there is none.
ids merge_plainly(const vocabulary& words, ids symbols) {
    for (;;) {
        std::size_t best = words.merges.size(), at = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
            for (std::size_t rank = 0; rank < best; ++rank)
                if (words.merges[rank].left == symbols[i] && words.merges[rank].right == symbols[i + 1])
                    best = rank, at = i;
        if (best == words.merges.size()) return symbols;
        symbols[at] = words.merges[best].joined;
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

}  // namespace

TEST_CASE("merging equals the plain algorithm on random vocabularies, with and without pieces across words") {
    std::mt19937 random(7);
    const std::vector<std::string> letters = {"a", "b", "c", "▁", "é"};
    for (int round = 0; round < 200; ++round) {
        const auto words = random_vocabulary(random, letters, 60, round % 2 == 0);
        const models::bpe engine(words.ids(), words.merges, {});
        for (int k = 0; k < 20; ++k) {
            ids symbols;
            std::string text;
            for (auto n = random() % 40; n > 0; --n) {
                symbols.push_back(static_cast<std::int32_t>(random() % letters.size()));
                text += letters[static_cast<std::size_t>(symbols.back())];
            }
            ids found;
            engine.encode(text, found);
            REQUIRE(found == merge_plainly(words, symbols));
        }
    }
}

TEST_CASE("unknown characters become bytes, one unknown id, several, or nothing") {
    models::text_map<std::int32_t> words = {{"a", 0}, {"?", 1}};
    const auto encode = [&](models::bpe_options options) {
        ids out;
        models::bpe(words, {}, options).encode("aéza", out);
        return out;
    };
    models::bpe_options options;
    CHECK(encode(options) == ids{0, 0});
    options.unknown = 1;
    CHECK(encode(options) == ids{0, 1, 1, 0});
    options.fuse_unknown = true;
    CHECK(encode(options) == ids{0, 1, 0});
    options.byte_fallback = true;
    words.insert({{"<0xC3>", 2}, {"<0xA9>", 3}});
    CHECK(encode(options) == ids{0, 2, 3, 1, 0});
}

TEST_CASE("bytes that no piece stands for are named, if a text can have them and they vanish") {
    models::text_map<std::int32_t> words;
    for (int byte = 0; byte < 256; ++byte)
        if (byte != 0x06 && byte != 0xC1 && byte != 0xF1 && byte < 0xF5)
            words[std::string(1, static_cast<char>(byte))] = byte;
    models::bpe_options options;
    options.byte_level = true;
    const models::bpe engine(words, {}, options);
    CHECK(engine.lost_bytes() == std::vector<std::uint8_t>{0x06, 0xF1});
    ids found;
    engine.encode("a\x06z", found);
    CHECK(found == ids{'a', 'z'});
    options.unknown = 'a';
    CHECK(models::bpe(words, {}, options).lost_bytes().empty());
    CHECK(models::bpe(words, {}, {}).lost_bytes().empty());
}

TEST_CASE("threads that share one engine get what one thread gets") {
    std::mt19937 random(3);
    const auto words = random_vocabulary(random, {"a", "b", "c", "d", "▁"}, 80, false);
    std::vector<std::string> texts(300);
    for (auto& text : texts)
        for (int k = 0; k < 60; ++k) text += words.pieces[random() % 5];
    const auto encode_all = [&](const models::bpe& engine) {
        ids out;
        for (const auto& text : texts) engine.encode(text, out);
        return out;
    };
    const auto alone = encode_all(models::bpe(words.ids(), words.merges, {}));
    const models::bpe shared(words.ids(), words.merges, {});
    std::vector<ids> results(4);
    std::vector<std::thread> threads;
    for (auto& result : results) threads.emplace_back([&] { result = encode_all(shared); });
    for (auto& thread : threads) thread.join();
    for (const auto& result : results) CHECK(result == alone);
}

TEST_CASE("a very long word takes little time") {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += "ab";
    ids out;
    models::bpe({{"a", 0}, {"b", 1}, {"ab", 2}, {"abab", 3}}, {{0, 1, 2, 0}, {2, 2, 3, 1}}, {}).encode(text, out);
    CHECK(out == ids(100000, 3));
}
