// Files as they come: packed, separated by other signs, JSON with columns, and other kinds altogether.
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <string>
#include <vector>

#include "data/sources/records.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp::data;

namespace {

std::vector<std::string> texts_of(const std::string& path, const std::optional<std::string>& how = {}) {
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
    const auto plain = texts_of(at.write("a.txt", bytes));
    REQUIRE(plain.size() == 200'000);
    CHECK(texts_of(at.write("a.txt.gz", gzipped(bytes))) == plain);
    CHECK(texts_of(at.write("a.TXT.ZST", zstandard(bytes))) == plain);
    const auto half = bytes.size() / 2;
    CHECK(texts_of(at.write("b.txt.gz", gzipped(bytes.substr(0, half)) + gzipped(bytes.substr(half)))) == plain);
    CHECK(texts_of(at.write("b.txt.zst", zstandard(bytes.substr(0, half)) + zstandard(bytes.substr(half)))) == plain);
}

TEST_CASE("what is unpacked beyond a piece is there when the packed bytes have all been read") {
    const scratch_directory at;
    constexpr std::size_t piece = 1 << 20;
    for (const std::size_t beyond : {1, 1000, 100'000}) {
        std::string bytes;
        while (bytes.size() < piece + beyond) bytes += "the same line again and again\n";
        bytes.resize(piece + beyond - 1);
        bytes += '\n';
        const auto plain = texts_of(at.write("a.txt", bytes));
        CHECK(texts_of(at.write("a.txt.gz", gzipped(bytes))) == plain);
        CHECK(texts_of(at.write("a.txt.zst", zstandard(bytes))) == plain);
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
            CHECK(has(refusal([&] { texts_of(path); }), "ends early"));
        }
    }
    auto gzip = gzipped(many_lines());
    gzip[gzip.size() / 2] = static_cast<char>(gzip[gzip.size() / 2] ^ 0x55);
    CHECK(has(refusal([&] { texts_of(at.write("b.txt.gz", gzip)); }), "b.txt.gz: its packed data are damaged"));
    CHECK(has(refusal([&] { texts_of(at.write("c.txt.zst", "no frame at all")); }), "are damaged"));
}

TEST_CASE("fields end at what the header has most of") {
    CHECK(delimiter_of("a,b,c\n1;2;3;4") == ',');
    CHECK(delimiter_of("a;b;c\n1,5;2;3") == ';');
    CHECK(delimiter_of("a\tb\n") == '\t');
    CHECK(delimiter_of("\r\n\n\"a;b;c;d\",e\n") == ',');
    CHECK(delimiter_of("alone\n1;2\n") == ',');
    CHECK(delimiter_of("\"alone\"\n1;2\n") == ',');
    CHECK(delimiter_of("\"\"\n1;2\n") == ';');  // the first line is blank
    const scratch_directory at;
    const auto how = at.write("how.json", R"({"clause": "{label} {value}"})");
    CHECK(texts_of(at.write("a.csv", "x;y\n1,5;\"2;3\"\n"), how) == std::vector<std::string>{"x 1,5 y 2;3"});
    CHECK(texts_of(at.write("a.tsv", "x, of a\ty\n1\t2\n"), how) == std::vector<std::string>{"x, of a 1 y 2"});
    CHECK(has(refusal([&] { texts_of(at.write("b.csv", "x;y\n1;2;3\n"), how); }), "b.csv:2: the row has 3 fields"));
    // Blank lines of more than a piece tell nothing.
    CHECK(texts_of(at.write("c.csv", std::string(3 << 20, '\n') + "x;y\n1;2\n"), how) ==
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
    CHECK(texts_of(at.write("a.jsonl", R"({"age": 42, "name": "é", "new": true, "score": 1.50, "tags": ["a", 2]}
{"name": null, "age": -1}
)"),
                   how) ==
          std::vector<std::string>{"age 42. name é. new true. score 1.5. tags a, 2.",
                                   "age -1. name not told. new not told. score not told. tags not told."});
    const auto refused = [&](const std::string& lines) {
        return refusal([&] { texts_of(at.write("b.jsonl", lines), how); });
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
        return refusal([&] { texts_of(at.write(name, bytes)); });
    };
    CHECK(has(said("a.txt", std::string("PAR1\x15\x04\0", 7)), "a.txt: is Parquet; export the table as .csv"));
    CHECK(has(said("a.data", std::string("PAR1\x15\x04\0", 7)), "is Parquet"));
    CHECK(has(said("a.txt", "PK\x03\x04\x14"), "Excel's"));
    CHECK(has(said("a.txt", std::string("SQLite format 3\0", 16)), "SQLite"));
    CHECK(has(said("a.txt", gzipped("x\n")), "packed with gzip; end its name in .gz"));
    CHECK(has(said("a.txt.gz", zstandard("x\n")), "a.txt.gz: its packed data are damaged"));
    CHECK(has(said("a.txt", std::string("\xff\xfe"
                                        "a\0b\0",
                                        6)),
              "UTF-16"));
    CHECK(has(said("a.xlsx", "nothing"), "spreadsheets are not read"));
    CHECK(has(refusal([&] { texts_of(at.path().string()); }), "is a directory"));
    CHECK(texts_of(at.write("b.txt", "PAR1,PAR2\n")) == std::vector<std::string>{"PAR1,PAR2"});
}
