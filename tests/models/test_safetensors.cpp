// Files of tensors, good and damaged.
#include "base/files.hpp"
#include "models/checkpoint/safetensors.hpp"
#include "tests/models/random_models.hpp"

#include "tests/catch.hpp"

namespace rldp::models::test {

namespace {

std::string with_length(const std::string& header, const std::string& data, std::uint64_t length) {
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(length >> (8 * i) & 0xff);
    return bytes.append(header).append(data);
}

std::string make_file(const std::string& header, std::size_t data) {
    return with_length(header, std::string(data, '\1'), header.size());
}

}  // namespace

TEST_CASE("tensors come back from a file, whatever their type", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "t.safetensors";
    const std::map<std::string, at::Tensor> tensors{
        {"a", at::randn({3, 5})},
        {"b.bf16", at::randn({7}).to(at::kBFloat16)},
        {"b.half", at::randn({2, 2}).to(at::kHalf)},
        {"c", at::randint(-9, 9, {4}, at::kLong)},
        {"d", at::randn({4, 6}).t()},
        {"empty", at::zeros({0, 3})},
        {"flag", at::ones({3}, at::kBool)},
        {"one", at::scalar_tensor(2.5, at::kDouble)},
    };
    save_safetensors(path, tensors, {{"format", "pt"}});
    at::Tensor outlives;
    {
        const safetensors_file file(path);
        CHECK(file.metadata().at("format") == "pt");
        CHECK(file.names().size() == tensors.size());
        for (const auto& [name, tensor] : tensors) {
            INFO(name);
            REQUIRE(file.contains(name));
            CHECK(file.tensor(name).scalar_type() == tensor.scalar_type());
            CHECK(at::equal(file.tensor(name), tensor));
        }
        outlives = file.tensor("a");
        CHECK(file.tensor("a").data_ptr() == outlives.data_ptr());  // a view, not a copy
        CHECK(has(refusal([&] { file.tensor("absent"); }), "t.safetensors: tensor 'absent' is missing"));
    }
    CHECK(at::equal(outlives, tensors.at("a")));
}

TEST_CASE("damaged safetensors are refused with file and tensor", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "bad.safetensors";
    const auto refused = [&](const std::string& bytes, const std::string& what) {
        INFO(bytes);
        write_file(path, bytes);
        const auto line = refusal([&] { safetensors_file file(path); });
        CHECK(has(line, "bad.safetensors"));
        CHECK(has(line, what));
        CHECK(!has(line, "\n"));
    };
    const std::string entry = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    write_file(path, make_file(entry, 8));
    CHECK(safetensors_file(path).tensor("w").numel() == 2);

    refused("", "too few");
    refused("1234567", "too few");
    refused(with_length(entry, "12345678", entry.size() + 100), "longer than the file");
    refused(with_length(entry, "12345678", ~std::uint64_t{0}), "longer than the file");
    refused(with_length("", "", 0), "not valid JSON");
    refused(make_file("{\"w\":", 8), "not valid JSON");
    refused(make_file("\xef\xbb\xbf" + entry, 8), "not valid JSON at byte 1");
    refused(make_file("[]", 8), "object");
    refused(make_file(std::string(5000, '['), 8), "deep");
    refused(make_file(entry, 7), "'w' ends at byte 8 of 7");
    refused(make_file(R"({"w":{"dtype":"F7","shape":[2],"data_offsets":[0,2]}})", 2), "'w' has dtype 'F7'");
    refused(make_file(entry, 9), "1 bytes follow its last tensor");
    refused(make_file("{}", 8), "8 bytes follow its last tensor");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12),
            "bytes 0 to 4 of the data, before tensor 'w', are no tensor's");
    refused(
        make_file(
            R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"z":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})",
            8),
        "'w' and 'z' overlap");
    refused(
        make_file(
            R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            8),
        "'v' and 'w' overlap");
    refused(make_file(R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2), "'w': shape");
    refused(make_file(R"({"w":{"shape":[2],"data_offsets":[0,8]}})", 8), "'dtype' is missing");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
            "'w': shape and data_offsets disagree");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 8),
            "'w': shape");
    refused(make_file(
                R"({"w":{"dtype":"F32","shape":[2305843009213693952,2305843009213693952,0],"data_offsets":[0,0]}})", 8),
            "'w': shape");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "'w': shape");
    refused(make_file(R"({"w":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", 8), "'w': shape");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "'w': data_offsets");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", 8), "'w': data_offsets");
    refused(make_file(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}})", 8),
            "'w': data_offsets");
    refused(make_file(R"({"w":3})", 8), "'w' must be an object");
    refused(make_file(R"({"w\n\u001b[2J":3})", 8), "'w??[2J' must be an object");
    refused(make_file(R"({"w":{"shape":[1e999]}})", 8), "'shape' holds a number that no double holds");
    refused(make_file(R"({"__metadata__":{"x":1}})", 8), "__metadata__.x");
    refused(
        make_file(
            R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
            16),
        "'w' appears twice");
    refused(
        make_file(
            R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            16),
        "'w' and 'v' overlap");
    CHECK(has(refusal([&] { safetensors_file file(scratch.path() / "none"); }), "none"));
    CHECK(has(refusal([&] { safetensors_file file(scratch.path()); }), "not a regular file"));
}

TEST_CASE("what nobody asks for refuses no safetensors file", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "t.safetensors";
    const std::string used = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
    const auto read = [&](const std::string& more, std::size_t data) {
        INFO(more);
        write_file(path, make_file("{" + used + more + "}", data));
        safetensors_file file(path);
        CHECK(file.tensor("w").numel() == 2);
        return file;
    };
    CHECK(read(R"(,"__metadata__":null)", 8).metadata().empty());
    const std::vector<std::pair<std::string, int>> types{
        {"U16", 16},    {"U32", 32},        {"U64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8},
        {"F8_E8M0", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4}};
    for (const auto& [type, bits] : types) {
        const auto end = 8 + 4 * bits / 8;
        const auto file = read(fmt::format(R"(,"u":{{"dtype":"{}","shape":[4],"data_offsets":[8,{}]}})", type, end),
                               static_cast<std::size_t>(end));
        CHECK(has(refusal([&] { file.tensor("u"); }), fmt::format("tensor 'u' has dtype '{}'; supported: F64", type)));
    }
    for (const std::string shape : {"0,4294967296,4294967296", "0,9223372036854775807"}) {
        const auto file = read(R"(,"u":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[8,8]})", 8);
        CHECK(has(refusal([&] { file.tensor("u"); }), "'u': shape has too many"));
    }
    std::string ones = "1";
    for (int i = 0; i < 70; ++i) ones += ",1";
    const auto deep = read(R"(,"u":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[8,9]})", 9);
    CHECK(has(refusal([&] { deep.tensor("u"); }), "'u': shape has too many"));
}

TEST_CASE("only spaces may follow a safetensors header, up to its length", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "t.safetensors";
    const std::string entry = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    write_file(path, make_file(entry + "     ", 8));
    CHECK(safetensors_file(path).tensor("w").numel() == 2);
    for (const auto& tail : {std::string(3, '\0'), std::string(" \0x", 3), std::string("x"), std::string("{}")}) {
        write_file(path, make_file(entry + tail, 8));
        CHECK(has(refusal([&] { safetensors_file file(path); }), "t.safetensors: not valid JSON at byte"));
    }
}

TEST_CASE("a header of 300,000 tensors is read, one of more than 100 MB is not", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "t.safetensors";
    std::string header = "{";
    for (std::size_t i = 0; i < 300'000; ++i)
        header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
                  std::to_string(i) + "," + std::to_string(i + 1) + "]}";
    write_file(path, make_file(header + "}", 300'000));
    CHECK(safetensors_file(path).names().size() == 300'000);
    write_file(path, make_file("{}" + std::string(100'000'000 - 2, ' '), 0));
    CHECK(safetensors_file(path).names().empty());
    write_file(path, make_file("{}" + std::string(100'000'000 - 1, ' '), 0));
    CHECK(has(refusal([&] { safetensors_file file(path); }), "longer than the file or than 100000000 bytes"));
}

TEST_CASE("unaligned data is read all the same", "[safetensors]") {
    const scratch_directory scratch;
    const auto path = scratch.path() / "odd.safetensors";
    write_file(path, make_file(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )", 4));
    std::uint32_t expected = 0x01010101;
    float number;
    std::memcpy(&number, &expected, 4);
    CHECK(safetensors_file(path).tensor("w").item<float>() == number);
}

}  // namespace rldp::models::test
