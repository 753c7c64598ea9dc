// Matrices in bitsandbytes' layout of a Hugging Face directory.
#include <cstring>
#include <map>

#include "models/quantized/bitsandbytes.hpp"
#include "models/quantized/quantize.hpp"
#include "tests/models/quantized/known.hpp"
#include "tests/support/refusal.hpp"

//
#include "tests/catch.hpp"

using namespace rldp;
using namespace rldp::models;
using namespace rldp::test;

namespace {

constexpr std::int64_t height = 12, width = 128;
const std::string weight = "model.layers.0.mlp.up_proj.weight";

struct file_tensor {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::uint8_t> bytes;
};
using files = std::map<std::string, file_tensor>;

stored_finder finder_of(const files& all) {
    return [&all](const std::string& name) -> std::optional<stored_tensor> {
        const auto found = all.find(name);
        if (found == all.end()) return std::nullopt;
        return stored_tensor{found->second.dtype, found->second.shape, found->second.bytes, "m.safetensors"};
    };
}

template <class Range>
file_tensor tensor_of(const std::string& dtype, const Range& values) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
    const auto size = values.size() * sizeof(*values.data());
    return {dtype, {static_cast<std::int64_t>(values.size())}, {first, first + size}};
}

quantized_tensor make_own(block_type type) {
    static const auto numbers = make_numbers(height * width, 4);
    return quantize_matrix(type, height, width, [](std::int64_t row) { return numbers.data() + row * width; });
}

/// Takes blocks apart as bitsandbytes stores them.
files take_apart(const quantized_tensor& nf4) {
    const auto head = nf4.type == block_type::nf4 ? std::size_t{1} : std::size_t{4};
    std::vector<std::uint8_t> codes, scales;
    for (std::size_t at = 0; at < nf4.bytes.size(); at += head + 32) {
        const auto block = nf4.bytes.subspan(at, head + 32);
        scales.insert(scales.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(head));
        codes.insert(codes.end(), block.begin() + static_cast<std::ptrdiff_t>(head), block.end());
    }
    std::string state = R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [12, 128])";
    files out{{weight, tensor_of("U8", codes)}, {weight + ".quant_map", tensor_of("F32", nf4_numbers())}};
    out[weight + ".absmax"] = tensor_of(head == 1 ? "U8" : "F32", scales);
    if (nf4.scales) {
        out[weight + ".nested_absmax"] = tensor_of("F32", nf4.scales->absmax);
        out[weight + ".nested_quant_map"] = tensor_of("F32", nf4.scales->map);
        state += R"(, "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": )" +
                 std::to_string(nf4.scales->offset);
    }
    out[weight + ".quant_state.bitsandbytes__nf4"] = tensor_of("U8", state + "}");
    return out;
}

files take_apart_int8(const quantized_tensor& whole_rows) {
    std::vector<std::uint8_t> codes, scales;
    for (std::int64_t row = 0; row < height; ++row) {
        const auto* bytes = whole_rows.bytes.data() + row * (4 + width);
        scales.insert(scales.end(), bytes, bytes + 4);
        codes.insert(codes.end(), bytes + 4, bytes + 4 + width);
    }
    files out{{weight, tensor_of("I8", codes)}};
    out["model.layers.0.mlp.up_proj.SCB"] = tensor_of("F32", scales);
    out["model.layers.0.mlp.up_proj.SCB"].dtype = "F32";
    out["model.layers.0.mlp.up_proj.weight_format"] = tensor_of("U8", std::vector<std::uint8_t>{0});
    return out;
}

std::string gathering(const files& all) {
    return refusal([&] { gather_bitsandbytes(weight, height, width, finder_of(all)); });
}

}  // namespace

TEST_CASE("bitsandbytes' files become the blocks that they came from") {
    for (const auto type : {block_type::nf4, block_type::nf4_single, block_type::int8}) {
        INFO(name_of(type));
        const auto own = make_own(type);
        const auto all = type == block_type::int8 ? take_apart_int8(own) : take_apart(own);
        CHECK(find_bitsandbytes(weight, finder_of(all)) == type);
        const auto gathered = gather_bitsandbytes(weight, height, width, finder_of(all));
        CHECK(gathered.type == type);
        CHECK(std::equal(gathered.bytes.begin(), gathered.bytes.end(), own.bytes.begin(), own.bytes.end()));
        if (type == block_type::nf4) {
            CHECK(gathered.scales->absmax == own.scales->absmax);
            CHECK(gathered.scales->map == own.scales->map);
            CHECK(gathered.scales->offset == Approx(own.scales->offset).epsilon(1e-4));
        }
    }
    CHECK_FALSE(find_bitsandbytes(weight, finder_of({{weight, {"BF16", {height, width}, {}}}})));
}

TEST_CASE("bitsandbytes' files that disagree are refused in one line that names file and tensor") {
    const auto whole = take_apart(make_own(block_type::nf4));
    REQUIRE(gathering(whole).empty());
    const auto without = [&](const std::string& name) {
        auto all = whole;
        all.erase(weight + name);
        return gathering(all);
    };
    for (const std::string name : {".absmax", ".quant_map", ".nested_quant_map"}) {
        INFO(name);
        CHECK(has(without(name), "m.safetensors: tensor '" + weight + name + "'"));
        CHECK(has(without(name), "is missing"));
        auto all = whole;
        all[weight + name].bytes.pop_back();
        CHECK(has(gathering(all), "m.safetensors: tensor '" + weight + name + "' has "));
    }
    auto all = whole;
    all[weight].bytes.pop_back();
    CHECK(has(gathering(all), "[12, 128] asks for 768"));
    all = whole;
    all[weight + ".quant_map"].bytes[5] ^= 1;
    CHECK(has(gathering(all), "is not NF4's"));
    all = whole;
    all[weight + ".nested_absmax"].bytes[3] = 0x7f;
    all[weight + ".nested_absmax"].bytes[2] = 0xff;
    CHECK(has(gathering(all), "not finite"));
    all = whole;
    all[weight + ".absmax"].dtype = "I8";
    CHECK(has(gathering(all), "has dtype I8, not U8"));
    const std::vector<std::pair<std::string, std::string>> states = {
        {R"({"blocksize": 128, "shape": [12, 128], "nested_blocksize": 256, "nested_offset": 0})",
         "key 'blocksize' is 128; only 64"},
        {R"({"blocksize": 64, "shape": [12, 128], "nested_blocksize": 64, "nested_offset": 0})",
         "key 'nested_blocksize' is 64; only 256"},
        {R"({"blocksize": 64, "shape": [128, 12], "nested_blocksize": 256, "nested_offset": 0})",
         "key 'shape' is [128,12]; config.json asks for [12,128]"},
        {R"({"blocksize": 64, "shape": [12, 128], "nested_blocksize": 256})", "key 'nested_offset' is missing"},
        {R"({"blocksize": 64)", "not valid JSON"}};
    for (const auto& [state, answer] : states) {
        all = whole;
        all[weight + ".quant_state.bitsandbytes__nf4"] = tensor_of("U8", state);
        CHECK(has(gathering(all), answer));
    }
    all = whole;
    all[weight + ".quant_state.bitsandbytes__fp4"] = all[weight + ".quant_state.bitsandbytes__nf4"];
    CHECK(has(refusal([&] { find_bitsandbytes(weight, finder_of(all)); }), "fp4; nf4 and int8 are read"));

    auto whole_rows = take_apart_int8(make_own(block_type::int8));
    REQUIRE(gathering(whole_rows).empty());
    whole_rows["model.layers.0.mlp.up_proj.weight_format"].bytes[0] = 1;
    CHECK(has(gathering(whole_rows), "only rows as they are"));
    whole_rows = take_apart_int8(make_own(block_type::int8));
    whole_rows["model.layers.0.mlp.up_proj.SCB"].bytes.pop_back();
    CHECK(has(gathering(whole_rows), "asks for 48"));
}
