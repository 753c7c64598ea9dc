// A ledger as it is, and with its chain closed anew, so that what lies behind the hashes is reached too.
#include "privacy/spending/ledger.hpp"

#include <nlohmann/json.hpp>

#include "privacy/keys/digest.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

/// Every line that is an object, in canonical form with its own hash and that of the line before.
std::string chained(std::string_view lines) {
    std::string out, before;
    for (std::size_t begin = 0; begin < lines.size();) {
        const auto end = std::min(lines.find('\n', begin), lines.size());
        auto line = nlohmann::json::parse(lines.substr(begin, end - begin), nullptr, false);
        begin = end + 1;
        if (!line.is_object()) continue;
        line.erase("hash");
        if (!before.empty()) line["prev"] = before;
        before = privacy::sha256(line.dump());
        line["hash"] = before;
        out += line.dump() + "\n";
    }
    return out;
}

void read(std::string_view text) {
    fuzz::write("ledger.jsonl", text);
    fuzz::check_reading(text.size(), [] {
        const auto content = privacy::read_ledger(fuzz::directory() / "ledger.jsonl");
        std::int64_t steps = 0;
        for (const auto& run : content.phases()) steps += run.steps;
        const auto charged = content.charges.size() + (content.torn ? 1 : 0);
        fuzz::require(steps == static_cast<std::int64_t>(charged), "a charge was lost");
        fuzz::require(content.header.mechanism_delta() > 0, "nothing is left of delta");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto text = fuzz::to_text(bytes, size);
    read(text);
    read(chained(text));
    return 0;
}
