// A release log as it is, and as the payload of a record that is sealed.
#include <cstring>

#include "privacy/release.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

namespace {

const privacy::file_seal& seal() {
    static const privacy::file_seal one(privacy::run_key::insecure_from_seed(1));
    return one;
}

std::string sealed(std::string_view payload) {
    const std::uint64_t length = payload.size();
    const auto tag = seal()("release", payload);
    std::string record = "RLDPREL2";
    record.append(reinterpret_cast<const char*>(&length), sizeof length);
    record.append(reinterpret_cast<const char*>(tag.data()), tag.size());
    return record.append(payload);
}

/// Without charges, so that no release may come out of it.
void read(const std::string& log) {
    static const privacy::ledger_content nothing_charged;
    fuzz::write("releases.log", log);
    const auto path = fuzz::directory() / "releases.log";
    fuzz::check_reading(log.size(), [&] {
        fuzz::require(privacy::release_log::read(path, seal(), nothing_charged).empty(), "a release without a charge");
    });
    fuzz::check_reading(log.size(), [&] {
        privacy::release_log opened(path, seal());
        fuzz::require(std::filesystem::file_size(path) <= log.size(), "opening made it longer");
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = fuzz::to_text(bytes, size);
    read(std::string(input));
    read(sealed(input));
    return 0;
}
