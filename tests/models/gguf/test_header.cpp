// GGUF's header: what is read of it, and what is refused.
#include <functional>

#include "models/gguf/gguf_file.hpp"
#include "tests/models/gguf/fixtures.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::models;
using namespace rldp::test;
using testing::gguf_writer;

namespace {

std::string refusal_of(const std::string& bytes) {
    const scratch_directory scratch;
    const auto path = scratch.write("m.gguf", bytes);
    const auto line = refusal([&] { gguf_file{path}; });
    if (line.empty()) return line;
    REQUIRE(line.rfind(path + ": ", 0) == 0);
    return line.substr(path.size() + 2);
}

std::string refusal_after(const std::function<void(gguf_writer&)>& change) {
    auto file = tiny_llama();
    change(file);
    return refusal_of(file.bytes());
}

}  // namespace

TEST_CASE("metadata and tensors of a GGUF file are read as they were written") {
    const scratch_directory scratch;
    auto made = tiny_llama();
    made.add("a.text", "caf\xC3\xA9");
    made.add("a.flag", true);
    made.add("a.texts", std::vector<std::string>{"x", "", "yz"});
    made.add("a.floats", std::vector<float>{1, -2.5F});
    made.add("a.same", std::vector<std::int32_t>{7, 7, 7});
    made.add("a.other", std::vector<std::int32_t>{7, 8});
    made.put("a.wide", 10, gguf_writer::bytes_of(std::uint64_t{1} << 40));
    made.put("a.double", 12, gguf_writer::bytes_of(0.1));
    made.put("a.byte", 1, "\xFF");
    for (const std::uint32_t version : {2U, 3U}) {
        made.version = version;
        const gguf_file file(scratch.write("m.gguf", made.bytes()));
        CHECK(file.text("a.text") == "caf\xC3\xA9");
        CHECK(file.text("a.none", "else") == "else");
        CHECK(file.boolean("a.flag", false));
        CHECK(file.texts("a.texts") == std::vector<std::string_view>{"x", "", "yz"});
        CHECK(file.numbers("a.floats") == std::vector<float>{1, -2.5F});
        CHECK(file.integer("a.same", 0, 10) == 7);
        CHECK(file.integers("a.other") == std::vector<std::int64_t>{7, 8});
        CHECK(file.integer("a.wide", 0, std::int64_t{1} << 41) == std::int64_t{1} << 40);
        CHECK(file.integer("a.byte", -5, 5) == -1);
        CHECK(file.number("a.double", 0, 1) == 0.1);
        CHECK(file.number("llama.attention.layer_norm_rms_epsilon", 0, 1) == 1e-5);  // not float32's 9.99999975e-6
        CHECK(file.tensors().size() == 11);
        CHECK(file.tensors().at("blk.0.ffn_down.weight").shape == std::vector<std::int64_t>{8, 12});
        const auto down = file.tensor("blk.0.ffn_down.weight");
        CHECK(down.type == block_type::f32);
        CHECK((down.rows == 8 && down.columns == 12));
        std::vector<float> row(12);
        down.read_rows(7, 1, row.data());
        CHECK(row == count_up(12, 84));
        file.forget("blk.0.ffn_down.weight");
        down.read_rows(7, 1, row.data());
        CHECK(row == count_up(12, 84));
    }
    const gguf_file file(scratch / "m.gguf");
    CHECK(has(refusal([&] { file.integer("a.other", 0, 9); }), "key 'a.other' must be an integer from 0 to 9"));
    CHECK(has(refusal([&] { file.integer("a.text", 0, 9); }), "must be an integer"));
    CHECK(has(refusal([&] { file.number("a.text", 0, 9); }), "must be a number"));
    CHECK(has(refusal([&] { file.boolean("a.text", true); }), "must be true or false"));
    CHECK(has(refusal([&] { file.text("a.flag"); }), "must be a text"));
    CHECK(has(refusal([&] { file.texts("a.floats"); }), "must be a list of texts"));
    CHECK(has(refusal([&] { file.numbers("a.same"); }), "must be a list of float32"));
    CHECK(has(refusal([&] { file.integers("a.texts"); }), "must be a list of integers"));
    CHECK(has(refusal([&] { file.integers("a.flag"); }), "must be a list"));
    CHECK(has(refusal([&] { file.text("a.none"); }), "metadata key 'a.none' is missing"));
    CHECK(has(refusal([&] { file.tensor("none"); }), "tensor 'none' is missing"));
}

TEST_CASE("a mapping outlives its file's object") {
    const scratch_directory scratch;
    quantized_tensor kept;
    {
        const gguf_file file(scratch.write("m.gguf", tiny_llama().bytes()));
        kept = file.tensor("output_norm.weight");
    }
    std::vector<float> row(8);
    kept.read_rows(0, 1, row.data());
    CHECK(row == count_up(8, 1));
}

TEST_CASE("every block format of ggml's is read from a file") {
    const scratch_directory scratch;
    for (const auto& format : names<block_type>::rows) {
        if (format.ggml < 0) continue;
        INFO(format.name);
        gguf_writer made;
        const auto columns = static_cast<std::uint64_t>(2 * format.elements);
        made.tensor("t", {3, columns}, static_cast<std::uint32_t>(format.ggml),
                    std::string(static_cast<std::size_t>(6 * format.bytes), '\0'));
        const gguf_file file(scratch.write("m.gguf", made.bytes()));
        const auto found = file.tensor("t");
        CHECK(found.type == format.value);
        CHECK(found.bytes.size() == static_cast<std::size_t>(6 * format.bytes));
        CHECK(found.all_finite());
    }
}

TEST_CASE("another alignment is followed") {
    const scratch_directory scratch;
    auto made = tiny_llama();
    made.add("general.alignment", 128U);
    made.alignment = 128;
    const gguf_file file(scratch.write("m.gguf", made.bytes()));
    std::vector<float> row(8);
    file.tensor("output_norm.weight").read_rows(0, 1, row.data());
    CHECK(row == count_up(8, 1));
}

TEST_CASE("a file that is no GGUF of a known version is refused by what it is") {
    CHECK(has(refusal_of(""), "ends at byte 0 within the header; the file is truncated"));
    CHECK(has(refusal_of("GG"), "ends at byte 2 within the header"));
    CHECK(has(refusal_of(std::string(100, 'x')), "not a GGUF file"));
    CHECK(has(refusal_after([](auto& file) { file.magic = "tjgg"; }), "a ggml file from before GGUF"));
    for (const std::uint32_t version : {0U, 1U, 4U, 70000U})
        CHECK(has(refusal_after([&](auto& file) { file.version = version; }),
                  "GGUF version " + std::to_string(version) + " is not read; versions 2 and 3 are"));
    for (const std::uint32_t turned : {0x01000000U, 0x03000000U})
        CHECK(has(refusal_after([&](auto& file) { file.version = turned; }), "made for big-endian machines"));
}

TEST_CASE("a truncated file is refused wherever it ends") {
    const auto whole = tiny_llama().bytes();
    REQUIRE(refusal_of(whole).empty());
    // The padding behind the last tensor is no loss: 12 rows of 8 float32 fill their alignment.
    for (std::size_t size = 0; size < whole.size(); size += size < 2000 ? 7 : 101)
        CHECK(has(refusal_of(whole.substr(0, size)), "truncated"));
    CHECK(has(refusal_of(whole.substr(0, whole.size() - 1)), "tensor 'blk.0.ffn_down.weight' ends at byte"));
}

TEST_CASE("a header that says what can't be is refused in one line that names key or tensor") {
    const std::vector<std::pair<std::function<void(gguf_writer&)>, std::string>> table = {
        {[](auto& f) { f.more_values = 1; }, ""},
        {[](auto& f) { f.more_values = -1; }, "tensor"},
        {[](auto& f) { f.more_values = std::int64_t{1} << 62; }, ""},
        {[](auto& f) { f.more_tensors = std::int64_t{1} << 62; }, ""},
        {[](auto& f) { f.more_tensors = -12; }, ""},
        {[](auto& f) { f.repeat("general.architecture"); }, "metadata key 'general.architecture' appears twice"},
        {[](auto& f) { f.put("k", 13, "1234"); }, "metadata key 'k' is of type 13, which GGUF does not have"},
        {[](auto& f) { f.put("k", 9, gguf_writer::bytes_of(std::uint32_t{9}) + std::string(8, '\0')); },
         "metadata key 'k' holds lists of lists"},
        {[](auto& f) { f.put("k", 9, gguf_writer::bytes_of(std::uint32_t{4}) + std::string(8, '\xff')); },
         "within metadata key 'k'"},
        {[](auto& f) { f.put("k", 9, gguf_writer::bytes_of(std::uint32_t{8}) + std::string(8, '\x7f')); },
         "within metadata key 'k'"},
        {[](auto& f) { f.put("k", 8, std::string(8, '\xff')); }, "within metadata key 'k'"},
        {[](auto& f) { f.add("general.alignment", 0U); }, "'general.alignment' must be an integer from 1"},
        {[](auto& f) { f.add("general.alignment", 48U); }, "'general.alignment' must be a power of two"},
        {[](auto& f) { f.add("general.alignment", 64U); }, "the file is damaged"},
        {[](auto& f) { f.tensor("output_norm.weight", {8}, count_up(8)); }, "'output_norm.weight' appears twice"},
        {[](auto& f) { f.added_to_offsets = 32; }, "not at 192, where the one before"},
        {[](auto& f) { f.added_to_offsets = 1; }, "lies at byte 193 of the data, not at 192"},
        {[](auto& f) { f.added_to_offsets = std::uint64_t{2} << 40; },
         "lies 2199023255744 bytes into the data of a file"},
        {[](auto& f) { f.added_to_offsets = ~std::uint64_t{0} - 5; }, "of the data, not at 192"},
        {[](auto& f) { f.tensor("t", {}, 0, ""); }, "tensor 't' has 0 dimensions; 1 to 4 are read"},
        {[](auto& f) {
             f.tensor("t", {1, 1, 1, 1, 1}, 0, "1234");
         },
         "tensor 't' has 5 dimensions"},
        {[](auto& f) { f.tensor("t", {0}, 0, ""); }, "tensor 't' has a dimension of 0"},
        {[](auto& f) {
             f.tensor("t", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, "");
         },
         "tensor 't' has a dimension of 1099511627776"},
        {[](auto& f) { f.tensor("t", {~std::uint64_t{0}}, 0, ""); },
         "tensor 't' has a dimension of 18446744073709551615"},
        {[](auto& f) {
             f.tensor("t", {std::uint64_t{1} << 30, std::uint64_t{1} << 20}, 0, "");
         },
         "tensor 't' ends at byte"},
        {[](auto& f) {
             f.tensor("t", {2, 48}, 2, std::string(54, '\0'));
         },
         "tensor 't' has rows of 48 numbers, which don't fill q4_0's blocks of 32"},
        {[](auto& f) {
             f.tensor("t", {1, 128}, 12, std::string(72, '\0'));
         },
         "don't fill q4_k's blocks of 256"},
        {[](auto& f) { f.tensor("t", {32}, 20, std::string(18, '\0')); },
         "tensor 't' has type 20 (IQ4_NL), which is not read; f32, f16, bf16, q4_0"},
        {[](auto& f) { f.tensor("t", {32}, 4, ""); }, "tensor 't' has type 4 (unknown)"},
        {[](auto& f) { f.tensor("t", {32}, 0xffffffff, ""); }, "tensor 't' has type 4294967295 (unknown)"}};
    for (const auto& [change, answer] : table) {
        const auto line = refusal_after(change);
        INFO(answer << " / " << line);
        CHECK_FALSE(line.empty());
        CHECK(has(line, answer));
    }
}
