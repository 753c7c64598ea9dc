// A checkpoint, under one run's seal.
#include "run/checkpoint.hpp"

#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    static const privacy::file_seal seal(privacy::run_key::insecure_from_seed(1));
    fuzz::write("checkpoint.safetensors", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [] {
        actors::read_checkpoint(fuzz::directory() / "checkpoint.safetensors", seal);
        fuzz::require(false, "a seal that nobody set");
    });
    return 0;
}
