// A run's configuration, and what it is resolved to.
#include "config/config.hpp"

#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    fuzz::write("config.json", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [] {
        const auto file = fuzz::directory() / "config.json";
        const auto resolved = config::to_json(config::load(file, {}));
        const auto again = config::to_json(config::parse(resolved, file.string(), fuzz::directory()));
        fuzz::require(again == resolved, "it reads back as another one");
    });
    return 0;
}
