// A certificate, which strangers hand on: as it is, and with its hash set anew, so that what lies behind it is reached.
#include "privacy/spending/certificate.hpp"

#include <nlohmann/json.hpp>

#include "privacy/keys/digest.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

std::string rehashed(std::string_view text) {
    auto object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object()) return std::string(text);
    const auto signature = object.value("signature", nlohmann::json());
    object.erase("hash");
    object.erase("signature");
    object["hash"] = privacy::sha256(object.dump());
    object["signature"] = signature;
    return object.dump() + "\n";
}

void read(std::string_view text) {
    const auto origin = (fuzz::directory() / "certificate.json").string();
    fuzz::check_reading(text.size(), [&] {
        const auto given = privacy::parse_certificate(text, origin);
        fuzz::require(privacy::to_json(given) == text, "it reads back as another one");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto text = fuzz::to_text(bytes, size);
    read(text);
    read(rehashed(text));
    return 0;
}
