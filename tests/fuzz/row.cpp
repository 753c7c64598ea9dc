// A line that a peer may send to `rldp monitor`.
#include "base/error.hpp"
#include "monitor/view/run_view.hpp"
#include "tests/fuzz/reading.hpp"

using namespace rldp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto line = fuzz::to_text(bytes, size);
    fuzz::check_reading(size, [&] {
        try {
            const auto sent = monitor::to_row(monitor::parse_row(line));
            fuzz::require(monitor::to_row(monitor::parse_row(sent)) == sent, "it reads back as another one");
        } catch (const error& refusal) {  // names no peer: its reader does
            refuse((fuzz::directory() / "peer: ").string() + refusal.what());
        }
    });
    return 0;
}
