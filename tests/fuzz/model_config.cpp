// config.json: the model, and the tokens that end a text.
#include "models/architecture/model_config.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    fuzz::write("config.json", fuzz::to_text(bytes, size));
    fuzz::check_reading(size, [] {
        const auto config = models::read_model_config(fuzz::directory());
        const auto& activation = config.activation;
        fuzz::require(activation == "gelu_new" || activation == "gelu" || activation == "silu", "unknown activation");
        fuzz::require(config.heads % config.kv_heads == 0, "heads that share no key");
    });
    fuzz::check_reading(size, [] { models::read_stop_tokens(fuzz::directory()); });
    return 0;
}
