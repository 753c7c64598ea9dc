// Files as they come: packed, separated by other signs, JSON with columns, and other kinds altogether.
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "data/sources/records.hpp"
#include "data/sources/tables.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::vector<std::string> list_texts(const std::string& path, const std::optional<std::string>& how = {}) {
    std::vector<std::string> out;
    const auto stream = open_records({.path = path, .ids_mapping = {}, .narrative = how, .group = {}});
    while (const auto block = stream->next())
        for (std::size_t i = 0; i < block->size(); ++i) out.push_back(block->at(i).text);
    return out;
}

std::string gzipped(const std::string& bytes) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(deflateBound(&stream, bytes.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

std::string zstandard(const std::string& bytes) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
    return out;
}

/// Enough lines for several pieces, which pack to a few kilobytes: much more comes out of a buffer than went in.
std::string many_lines() {
    std::string out;
    for (int i = 0; i < 200'000; ++i) out += fmt::format("line {:06} of a file that packs well\n", i);
    return out;
}

}  // namespace

TEST_CASE("a packed file gives what the plain one gives") {
    const scratch_directory at;
    const auto bytes = many_lines();
    const auto plain = list_texts(at.write("a.txt", bytes));
    REQUIRE(plain.size() == 200'000);
    CHECK(list_texts(at.write("a.txt.gz", gzipped(bytes))) == plain);
    CHECK(list_texts(at.write("a.TXT.ZST", zstandard(bytes))) == plain);
    const auto half = bytes.size() / 2;
    CHECK(list_texts(at.write("b.txt.gz", gzipped(bytes.substr(0, half)) + gzipped(bytes.substr(half)))) == plain);
    CHECK(list_texts(at.write("b.txt.zst", zstandard(bytes.substr(0, half)) + zstandard(bytes.substr(half)))) == plain);
}

TEST_CASE("what is unpacked beyond a piece is there when the packed bytes have all been read") {
    const scratch_directory at;
    constexpr std::size_t piece = 1 << 20;
    for (const std::size_t beyond : {1, 1000, 100'000}) {
        std::string bytes;
        while (bytes.size() < piece + beyond) bytes += "the same line again and again\n";
        bytes.resize(piece + beyond - 1);
        bytes += '\n';
        const auto plain = list_texts(at.write("a.txt", bytes));
        CHECK(list_texts(at.write("a.txt.gz", gzipped(bytes))) == plain);
        CHECK(list_texts(at.write("a.txt.zst", zstandard(bytes))) == plain);
    }
}

TEST_CASE("a packed file can be read again from its beginning") {
    const scratch_directory at;
    for (const auto& path :
         {at.write("a.txt.gz", gzipped(many_lines())), at.write("a.txt.zst", zstandard(many_lines()))}) {
        const auto stream = open_records({.path = path, .ids_mapping = {}, .narrative = {}, .group = {}});
        const auto first = stream->next()->at(0).text;
        stream->next();
        stream->rewind();
        CHECK(stream->next()->at(0).text == first);
    }
}

TEST_CASE("a packed file that is cut or damaged is refused, wherever that is") {
    const scratch_directory at;
    const std::string bytes = "one\ntwo\nthree\n";
    for (const auto& [name, packed] : {std::pair{"a.txt.gz", gzipped(bytes)}, {"a.txt.zst", zstandard(bytes)}}) {
        for (std::size_t length = 0; length < packed.size(); ++length) {
            CAPTURE(name, length);
            const auto path = at.write(name, packed.substr(0, length));
            CHECK(has(refusal([&] { list_texts(path); }), "ends early"));
        }
    }
    auto gzip = gzipped(many_lines());
    gzip[gzip.size() / 2] = static_cast<char>(gzip[gzip.size() / 2] ^ 0x55);
    CHECK(has(refusal([&] { list_texts(at.write("b.txt.gz", gzip)); }), "b.txt.gz: its packed data are damaged"));
    CHECK(has(refusal([&] { list_texts(at.write("c.txt.zst", "no frame at all")); }), "are damaged"));
}

TEST_CASE("fields end at what the header has most of") {
    CHECK(detect_delimiter("a,b,c\n1;2;3;4") == ',');
    CHECK(detect_delimiter("a;b;c\n1,5;2;3") == ';');
    CHECK(detect_delimiter("a\tb\n") == '\t');
    CHECK(detect_delimiter("\r\n\n\"a;b;c;d\",e\n") == ',');
    CHECK(detect_delimiter("alone\n1;2\n") == ',');
    CHECK(detect_delimiter("\"alone\"\n1;2\n") == ',');
    CHECK(detect_delimiter("\"\"\n1;2\n") == ';');  // the first line is blank
    const scratch_directory at;
    const auto how = at.write("how.json", R"({"clause": "{label} {value}"})");
    CHECK(list_texts(at.write("a.csv", "x;y\n1,5;\"2;3\"\n"), how) == std::vector<std::string>{"x 1,5 y 2;3"});
    CHECK(list_texts(at.write("a.tsv", "x, of a\ty\n1\t2\n"), how) == std::vector<std::string>{"x, of a 1 y 2"});
    CHECK(has(refusal([&] { list_texts(at.write("b.csv", "x;y\n1;2;3\n"), how); }), "b.csv:2: the row has 3 fields"));
    // Blank lines of more than a piece tell nothing.
    CHECK(list_texts(at.write("c.csv", std::string(3 << 20, '\n') + "x;y\n1;2\n"), how) ==
          std::vector<std::string>{"x 1 y 2"});
    CHECK(read_csv(at.write("d.csv", "x;y\n1,5;2\n")).cell(0, 0) == "1,5");
}

TEST_CASE("what ends fields is told after rows are read") {
    const scratch_directory at;
    csv_stream rows(at.write("a.csv", "\n\nx;y\n1;2\n"));
    REQUIRE(rows.next());
    CHECK(rows.delimiter() == ';');
}

TEST_CASE("JSON lines with columns go through a template") {
    const scratch_directory at;
    const auto how = at.write("how.json", R"({"clause": "{label} {value}.", "unknown": "not told"})");
    CHECK(list_texts(at.write("a.jsonl", R"({"age": 42, "name": "é", "new": true, "score": 1.50, "tags": ["a", 2]}
{"name": null, "age": -1}
)"),
                     how) ==
          std::vector<std::string>{"age 42. name é. new true. score 1.50. tags a, 2.",
                                   "age -1. name not told. new not told. score not told. tags not told."});
    const auto refused = [&](const std::string& lines) {
        return refusal([&] { list_texts(at.write("b.jsonl", lines), how); });
    };
    CHECK(has(refused("{\"a\": 1}\n\"text\"\n"), "b.jsonl:2: not a JSON object"));
    CHECK(has(refused("{\"a\": {\"b\": 1}}\n"), "b.jsonl:1: \"a\" holds an object"));
    std::string late;
    for (int i = 0; i < 200'000; ++i) late += "{\"a\": 1}\n";
    CHECK(has(refused(late + "{\"b\": 1}\n"), "b.jsonl:200001: has a key that no object at the file's beginning has"));
}

TEST_CASE("a file of another kind is called what it is") {
    const scratch_directory at;
    const auto said = [&](const std::string& name, const std::string& bytes) {
        return refusal([&] { list_texts(at.write(name, bytes)); });
    };
    CHECK(has(said("a.txt", std::string("PAR1\x15\x04\0", 7)), "a.txt: is Parquet; python3 -m rldp rows "));
    CHECK(has(said("a.parquet", "PAR1\x15"), "a.parquet | rldp init - --model DIRECTORY --out a.json"));
    CHECK(has(said("a.data", std::string("PAR1\x15\x04\0", 7)), "is Parquet"));
    CHECK(has(said("a.txt", "PK\x03\x04\x14"), "Excel's"));
    CHECK(has(said("a.txt", std::string("SQLite format 3\0", 16)), "SQLite"));
    CHECK(has(said("a.txt", gzipped("x\n")), "packed with gzip; end its name in .gz"));
    CHECK(has(said("a.txt.gz", zstandard("x\n")), "a.txt.gz: its packed data are damaged"));
    CHECK(has(said("a.txt", std::string("\xff\xfe"
                                        "a\0b\0",
                                        6)),
              "UTF-16"));
    CHECK(has(said("a.xlsx", "nothing"), "sheets come through a pipe: python3 -m rldp rows "));
    CHECK(has(said("a.ods", "nothing"), "spreadsheets are not read"));
    CHECK(has(refusal([&] { list_texts(at.path().string()); }), "is a directory"));
    CHECK(list_texts(at.write("b.txt", "PAR1,PAR2\n")) == std::vector<std::string>{"PAR1,PAR2"});
}

TEST_CASE("bytes that are no text are told for what they are, also inside a packed file") {
    const scratch_directory at;
    const auto refused = [&](const std::string& name, const std::string& bytes) {
        return refusal([&] { list_texts(at.write(name, bytes)); });
    };
    const auto utf16 = [](const std::string& text, bool big) {
        std::string out;
        for (const char c : text) out += big ? std::string{'\0', c} : std::string{c, '\0'};
        return out;
    };
    CHECK(has(refused("a.txt", utf16("one\ntwo\n", true)),
              "a.txt: is UTF-16; convert the file to UTF-8 (iconv -f UTF-16BE"));
    CHECK(has(refused("a.txt", utf16("one\ntwo\n", false)), "iconv -f UTF-16LE"));
    CHECK(has(refused("a.txt.gz", gzipped(utf16("one\ntwo\n", false))), "a.txt.gz, unpacked: is UTF-16"));
    CHECK(has(refused("a.txt", std::string("one\ntw\0o\n", 9)), "a.txt:2: a zero byte"));
    CHECK(has(refused("b.jsonl", std::string("{\"text\": \"a\0b\"}\n", 16)), "b.jsonl:1: a zero byte"));
    CHECK(
        has(refused("a.txt", "caf\xe9\n"), "a.txt:1: invalid UTF-8; convert the file to UTF-8 (iconv -f WINDOWS-1252"));
    std::string tar(1024, '\0');
    tar.replace(0, 5, "a.csv");
    tar.replace(257, 5, "ustar");
    CHECK(has(refused("c.txt", tar), "c.txt: is a tar archive"));
    CHECK(has(refused("c.txt.gz", gzipped(tar)), "c.txt.gz, unpacked: is a tar archive"));
    CHECK(has(refused("c.txt.zst", zstandard("PK\x03\x04 and more of it")), "c.txt.zst, unpacked: is a ZIP archive"));
    CHECK(has(refused("c.txt.gz", gzipped(gzipped("a\n"))), "c.txt.gz, unpacked: is packed with gzip"));
}

TEST_CASE("zeros behind a gzip file's end are padding, and anything else is damage") {
    const scratch_directory at;
    const auto packed = gzipped("one\ntwo\n");
    const std::vector<std::string> both{"one", "two"};
    CHECK(list_texts(at.write("a.txt.gz", packed + std::string(300'000, '\0'))) == both);
    CHECK(list_texts(at.write("a.txt.gz", packed + std::string(5, '\0') + packed)).size() == 4);
    CHECK(has(refusal([&] { list_texts(at.write("a.txt.gz", packed + std::string(5, '\0') + "x")); }),
              "its packed data"));
}

TEST_CASE("what ends fields may be said in the first line, as Excel says it") {
    const scratch_directory at;
    const auto how = at.write("how.json", R"({"columns": {"a": {}, "b": {}}})");
    const auto plain = list_texts(at.write("plain.csv", "a;b\n1;2\n3,5;4\n"), how);
    REQUIRE(plain.size() == 2);
    for (const std::string first : {"sep=;\n", "SEP=;\r\n", "\"sep=;\"\n", "\xEF\xBB\xBFsep=;\n"})
        CHECK(list_texts(at.write("said.csv", first + "a;b\n1;2\n3,5;4\n"), how) == plain);
    CHECK(list_texts(at.write("bar.csv", "sep=|\na|b\n1|2\n3,5|4\n"), how) == plain);
    CHECK(has(refusal([&] { list_texts(at.write("said.csv", "sep=;\na;b\n1;2;3\n"), how); }),
              "said.csv:3: the row has 3"));
}

TEST_CASE("numbers of JSON keep their spelling") {
    const scratch_directory at;
    const auto how = at.write("how.json", R"({"columns": {"id": {}, "x": {}}})");
    const std::string id = "340282366920938463463374607431768211457";  // 2^128 + 1
    const auto texts =
        list_texts(at.write("a.jsonl", "{\"id\": " + id + ", \"x\": 1.50}\n{\"id\": 7, \"x\": [1e5, true]}\n"), how);
    REQUIRE(texts.size() == 2);
    CHECK(has(texts[0], id));
    CHECK(has(texts[0], "1.50"));
    CHECK(has(texts[1], "1e5, true"));
    // Neighbours, which are one double, are two persons and two records.
    const auto keys = [&](const std::string& path) {
        std::vector<std::pair<std::string, std::string>> out;
        const auto stream = open_records({.path = path, .ids_mapping = {}, .narrative = {}, .group = "who"});
        while (const auto block = stream->next())
            for (std::size_t i = 0; i < block->size(); ++i) {
                const auto one = block->identity(i);
                out.emplace_back(one.group, one.text);
            }
        return out;
    };
    const auto found =
        keys(at.write("b.jsonl", "{\"who\": " + id + ", \"text\": \"a\"}\n{\"text\": \"a\", \"who\": " +
                                     id.substr(0, id.size() - 1) + "8}\n{\"who\": -3, \"text\": \"a\"}\n"));
    REQUIRE(found.size() == 3);
    CHECK(found[0].first == id);
    CHECK(found[0].first != found[1].first);
    CHECK(found[0].second == "{\"text\":\"a\",\"who\":" + id + "}");
    CHECK(found[2].second == R"({"text":"a","who":-3})");
    CHECK(has(refusal([&] { keys(at.write("b.jsonl", "{\"who\": 1.5, \"text\": \"a\"}\n")); }),
              "neither text nor an integer"));
}

TEST_CASE("a line that is no JSON is refused with the parser's reason and column, and nothing of its text") {
    const scratch_directory at;
    const auto refused = [&](const std::string& line) {
        auto said = refusal([&] { list_texts(at.write("a.jsonl", "{\"text\": \"fine\"}\n" + line + "\n")); });
        CHECK_FALSE(has(said, "secret"));
        return said;
    };
    CHECK(has(refused(R"({"text": "secret \ud83d"})"), "a.jsonl:2: column 24: no JSON: invalid string: surrogate"));
    CHECK(has(refused(R"({"text": "secret", "x": NaN})"), "a.jsonl:2: column 25: no JSON: invalid literal"));
    CHECK(has(refused(R"({"text": "secret",})"), "no JSON: unexpected '}'; expected string literal"));
    CHECK(has(refused(R"({"text": "secret"},)"), "no JSON: unexpected ','; expected end of input"));
    CHECK(has(refused(R"({"text": "secret)"), "no JSON: invalid string: missing closing quote"));
    CHECK(has(refused(R"([{"text": "secret"}])"), "a.jsonl:2: a list; write one value per line (jq -c"));
    CHECK(has(refused(R"({"text": "secret", "x": 1e999})"), "no JSON: number overflow"));
    CHECK(has(refused("{\"text\": \"a\", \"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
              "nested deeper than 200 levels"));
    const auto how = at.write("how.json", R"({"columns": {"a": {}}})");
    CHECK(
        has(refusal([&] { list_texts(at.write("a.jsonl", "[{\"a\": 1}]\n"), how); }), "a.jsonl:1: a list; write one"));
}
