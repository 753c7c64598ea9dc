// Files that no one should name: FIFOs, devices and directories in place of each file that a command reads, weights
// that are no numbers, places that can't be written.
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/app/program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

#include "tests/catch.hpp"

namespace fs = std::filesystem;
using rldp::read_file, rldp::write_file;

namespace {

/// A model, data of every kind and a configuration, all of them sound.
struct desk {
    scratch_directory scratch;

    desk() {
        fs::copy("config/tiny-gpt2", at("model"));
        fs::copy("tests/app/adapter", at("adapter"));
        write_file(at("t.csv"), "a,b\n1,2\n");
        write_file(at("t.jsonl"), "\"one\"\n");
        write_file(at("t.txt"), "one\n");
        write_file(at("ids.csv"), "a,description\n1,one\n");
        write_file(at("template.json"), R"({"record": "a"})");
        write_file(at("c.json"), R"({"data": {"path": "t.txt"}, "model": {"path": "model"}})");
    }
    std::string at(const std::string& name) const { return (scratch.path() / name).string(); }

    /// Exit status 2 and one line that says all of `parts`.
    void refuses(const std::string& arguments, const std::vector<std::string>& parts, int status = 2) const {
        const auto got = rldp_says(arguments, scratch / ".");
        INFO(arguments);
        INFO(got.err);
        CHECK(got.status == status);
        CHECK(got.err.find('\n') + 1 == got.err.size());
        for (const auto& part : parts) CHECK(got.err.find(part) != std::string::npos);
    }
};

/// Spoils the first number of a float32 tensor.
void spoil(const fs::path& file, const std::string& tensor, float number) {
    auto bytes = read_file(file);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto described = nlohmann::json::parse(bytes.substr(8, header));
    const auto begin = 8 + header + described.at(tensor).at("data_offsets").at(0).get<std::size_t>();
    std::memcpy(bytes.data() + begin, &number, sizeof number);
    write_file(file, bytes);
}

}  // namespace

namespace {

/// Files of the desk, each with a command that reads it.
std::vector<std::pair<std::string, std::string>> readers(const desk& it) {
    const auto generate = "generate " + it.at("model") + " --prompt x --max-new-tokens 1";
    const auto of_table = "check " + it.at("c.json") + " --set data.template=" + it.at("template.json") +
                          " --set data.path=" + it.at("t.csv") + " --set data.ids_mapping=" + it.at("ids.csv");
    const auto data = [&](const std::string& name) {
        return "check " + it.at("c.json") + " --set data.path=" + it.at(name);
    };
    return {
        {"c.json", "check " + it.at("c.json")},
        {"t.csv", of_table},
        {"ids.csv", of_table},
        {"template.json", of_table},
        {"t.jsonl", data("t.jsonl")},
        {"t.txt", data("t.txt")},
        {"model/config.json", generate},
        {"model/model.safetensors", generate},
        {"model/tokenizer.json", generate},
        {"model/tokenizer.json", "tokenize " + it.at("model")},
        {"adapter/adapter_config.json", generate + " --adapter " + it.at("adapter")},
        {"adapter/adapter_model.safetensors", generate + " --adapter " + it.at("adapter")},
        {"key", "run " + it.at("c.json") + " --out " + it.at("run") + " --sign " + it.at("key")},
    };
}

}  // namespace

TEST_CASE("what is no regular file is refused wherever a file is named", "[full]") {
    const auto number = GENERATE(range(0, 13));
    const desk it;
    REQUIRE(readers(it).size() == 13);
    const auto [name, command] = readers(it)[static_cast<std::size_t>(number)];
    INFO(name);
    const auto path = it.at(name);
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    it.refuses(command, {path + ": is a FIFO, not a regular file"});
    fs::remove(path);
    fs::create_symlink("/dev/zero", path);
    it.refuses(command, {path + ": is a device, not a regular file"});
    fs::remove(path);
    fs::create_directory(path);
    it.refuses(command, {path + ": is a directory, not a regular file"});
}

TEST_CASE("shards, their index, and the older tokenizers' files are regular, too") {
    const desk it;
    const auto model = it.scratch / "model";
    const auto generate = "generate " + model.string() + " --prompt x --max-new-tokens 1";
    fs::rename(model / "model.safetensors", model / "part.safetensors");
    const auto index = model / "model.safetensors.index.json";
    REQUIRE(::mkfifo(index.c_str(), 0600) == 0);
    it.refuses(generate, {index.string() + ": is a FIFO"});
    fs::remove(index);
    fs::remove(model / "part.safetensors");
    write_file(index, R"({"weight_map": {"transformer.wte.weight": "part.safetensors"}})");
    REQUIRE(::mkfifo((model / "part.safetensors").c_str(), 0600) == 0);
    it.refuses(generate, {"part.safetensors: is a FIFO"});

    const auto tokenize = "tokenize " + model.string();
    fs::remove(model / "tokenizer.json");
    write_file(model / "merges.txt", "");
    REQUIRE(::mkfifo((model / "vocab.json").c_str(), 0600) == 0);
    it.refuses(tokenize, {"vocab.json: is a FIFO"});
    fs::remove(model / "vocab.json");
    fs::remove(model / "merges.txt");
    fs::remove(model / "tokenizer_config.json");  // whose class has no tokenizer.model
    REQUIRE(::mkfifo((model / "tokenizer.model").c_str(), 0600) == 0);
    it.refuses(tokenize, {"tokenizer.model: is a FIFO"});
}

TEST_CASE("weights that are not finite are refused by file and tensor") {
    const desk it;
    const auto number = GENERATE(std::nanf(""), INFINITY, -INFINITY);
    const auto file = it.scratch / "model/model.safetensors";
    spoil(file, "transformer.h.1.mlp.c_fc.bias", number);
    const std::vector<std::string> says{file.string(), "'transformer.h.1.mlp.c_fc.bias'", "not finite in F32"};
    const auto model = it.at("model");
    it.refuses("generate " + model + " --prompt x --max-new-tokens 1", says);
    it.refuses("run " + it.at("c.json") + " --out " + it.at("run"), says);
    CHECK_FALSE(fs::exists(it.at("run")));
}

TEST_CASE("a run that can't be put where it should is refused with the path") {
    const desk it;
    it.refuses(
        "run config/demo.json --set data.path=synthetic:60 --set train.steps=1 --set rl.warmup=0"
        " --set train.warmup=0 --set train.expected_batch_size=2 --out " +
            it.at("t.txt/run"),
        {it.at("t.txt"), "can't be created: "});
    it.refuses("compare config/demo.json --methods static --epsilons 2 --seeds 0 --out " + it.at("t.txt/grid"),
               {it.at("t.txt"), "can't be created: "});
}
