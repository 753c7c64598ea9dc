// docs/data.md does what it says: its examples of templates tell their rows as shown, and its walk can be walked.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "tests/app/program.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

namespace {

struct block {
    std::string kind, text;
};

/// What stands between fences.
std::vector<block> list_blocks(const std::string& page) {
    std::vector<block> out;
    std::istringstream lines(page);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("```")) {
            inside = !inside;
            if (inside) out.push_back({line.substr(3), ""});
        } else if (inside) {
            out.back().text += line + "\n";
        }
    }
    return out;
}

std::string told(const scratch_directory& scratch, const block& how, const block& rows) {
    const auto at = [&](const std::string& name) { return (scratch / name).string(); };
    scratch.write("how.json", how.text);
    const auto data = "rows." + rows.kind;
    scratch.write(data, rows.text);
    scratch.write("mine.json",
                  fmt::format(R"({{"data": {{"path": "{}", "template": "how.json"}}, "model": {{"path": "{}"}}}})",
                              data, std::filesystem::absolute("config/tiny-gpt2").string()));
    const auto seen = rldp_says("preview " + at("mine.json") + " -n 100 --json", scratch.path());
    INFO(seen.err);
    REQUIRE(seen.status == 0);
    std::string out;
    const auto all = nlohmann::json::parse(seen.out);
    for (const auto& record : all["records"]) out += record["text"].get<std::string>() + "\n";
    return out;
}

}  // namespace

TEST_CASE("every template of docs/data.md tells its rows as the page says") {
    const auto blocks = list_blocks(rldp::read_file("docs/data.md"));
    std::size_t examples = 0;
    for (std::size_t i = 0; i + 2 < blocks.size(); ++i) {
        if (blocks[i].kind != "json" || blocks[i + 2].kind != "text") continue;
        const scratch_directory scratch;
        CHECK(told(scratch, blocks[i], blocks[i + 1]) == blocks[i + 2].text);
        ++examples;
    }
    CHECK(examples == 9);
}

TEST_CASE("the conversation of docs/data.md is told and learned as the page says") {
    const auto blocks = list_blocks(rldp::read_file("docs/data.md"));
    const auto of = [&](const std::string& kind) {
        for (const auto& each : blocks)
            if (each.kind == kind) return each.text;
        return std::string();
    };
    const scratch_directory scratch;
    std::filesystem::copy("config/tiny-gpt2", scratch / "talker", std::filesystem::copy_options::recursive);
    scratch.write("talker/chat_template.jinja", of("jinja"));
    scratch.write("talks.jsonl", of("chat"));
    const auto config =
        scratch.write("mine.json", R"({"data": {"path": "talks.jsonl", "chat": true}, "model": {"path": "talker"}})");
    const auto seen = rldp_says("preview " + config, scratch.path());
    INFO(seen.err);
    CHECK(has(seen.out, "\n" + of("preview")));
}

TEST_CASE("the walk of docs/data.md can be walked", "[full]") {
    const scratch_directory scratch;
    for (const char* folder : {"scripts", "config"})
        std::filesystem::create_directory_symlink(std::filesystem::absolute(folder), scratch / folder);
    std::filesystem::create_directory(scratch / "build");
    std::filesystem::create_symlink(RLDP_PROGRAM, scratch / "build/rldp");
    for (const auto& block : list_blocks(rldp::read_file("docs/data.md"))) {
        if (block.kind != "bash") continue;
        const auto script = scratch.write("walk.sh", "set -euo pipefail\ncd \"$(dirname \"$0\")\"\n" + block.text);
        const int status = std::system(("bash " + script + " > " + (scratch / "said").string() + " 2>&1").c_str());
        const auto said = rldp::read_file(scratch / "said");
        INFO(said);
        REQUIRE(status == 0);
        CHECK(has(said, "the person: all their records are protected together"));
        CHECK(has(said, "1 run by customer_id"));
    }
    CHECK(std::filesystem::exists(scratch / "runs/rentals/public/report.html"));
}
