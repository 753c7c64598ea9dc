#include "tests/kill/witness.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "privacy/release.hpp"
#include "run/checkpoint.hpp"
#include "run/looks.hpp"
#include "tests/catch.hpp"

namespace rldp::testing {

namespace {

std::string to_bytes(const privacy::release& value) {
    std::string out(static_cast<const char*>(value.gradient.data_ptr()), value.gradient.nbytes());
    const auto* statistics = reinterpret_cast<const char*>(value.statistics.data());
    out.append(statistics, value.statistics.size() * sizeof(double));
    return out;
}

}  // namespace

bool witness::begun() const {
    return std::filesystem::exists(where_.ledger());
}

bool witness::finished() const {
    return begun() && !std::filesystem::exists(where_.key());
}

void witness::look() {
    read_ledger();
    read_releases();
    read_looks();
    read_metrics();
    CHECK(released_.size() + lost_.size() <= ledger_.charges.size() + (ledger_.torn ? 1 : 0));
}

void witness::read_ledger() {
    ledger_ = privacy::read_ledger(where_.ledger());  // throws unless every whole line verifies
    if (guaranteed_ < 0) guaranteed_ = ledger_.header.epsilon_guaranteed;
    CHECK(ledger_.header.epsilon_guaranteed == guaranteed_);
    // A line is only ever missing while it is torn, and then it is the last.
    REQUIRE(ledger_.charges.size() + (ledger_.torn ? 1 : 0) >= hashes_.size());
    for (std::size_t i = 0; i < ledger_.charges.size(); ++i) {
        CHECK(ledger_.charges[i]->seq == i + 1);  // so no seq is charged twice
        if (i < hashes_.size())
            CHECK(hashes_[i] == ledger_.charges[i]->hash);
        else
            hashes_.push_back(ledger_.charges[i]->hash);
    }
}

void witness::read_releases() {
    if (finished()) return;  // the log is erased with the key
    std::uint64_t last = 0;
    // Throws unless each was charged before it was released.
    for (const auto& value : privacy::release_log::read(where_.releases(), seal(), ledger_)) {
        const auto seq = value.charged->seq;
        INFO("release " << seq);
        CHECK(seq > last);  // one noise stream, one release
        last = seq;
        CHECK(lost_.count(seq) == 0);
        CHECK(released_.try_emplace(seq, to_bytes(value)).first->second == to_bytes(value));
    }
}

privacy::file_seal witness::seal() const {
    return privacy::file_seal(privacy::run_key::load_insecure(where_.key()));  // no stream is drawn from it
}

void witness::read_looks() {
    if (finished()) return;
    // Throws unless each was charged.
    for (const auto& look : actors::looks_log::read(where_.looks(), seal(), ledger_)) {
        const auto step = look.charged->step;
        INFO("look at step " << step);
        CHECK(lost_looks_.count(step) == 0);
        CHECK(looks_.try_emplace(step, privacy::to_json(look)).first->second == privacy::to_json(look));
    }
}

bool witness::look_pending() const {
    if (ledger_.looks.empty()) return false;
    const auto step = ledger_.looks.back()->step;
    return looks_.count(step) + lost_looks_.count(step) == 0;
}

void witness::read_metrics() {
    if (!std::filesystem::exists(where_.metrics())) return;
    for (const auto& line : eval::read_metrics(where_.metrics())) {
        INFO("metrics of step " << line.step);
        if (!line.loss_released) continue;
        REQUIRE(line.step <= static_cast<std::int64_t>(ledger_.charges.size()));
        CHECK(lost_.count(static_cast<std::uint64_t>(line.step)) == 0);  // every step is charged, in order: seq = step
        const auto& before = shown_.try_emplace(line.step, line).first->second;
        CHECK(before.loss_released == line.loss_released);
        CHECK(before.noise_multiplier == line.noise_multiplier);
        CHECK(before.radii == line.radii);
        CHECK((line.progress == before.progress || line.progress.step == line.step));  // or priced since
    }
}

std::int64_t witness::checkpointed() {
    const auto saved = actors::read_checkpoint(where_.checkpoint(), seal());
    const auto rest = nlohmann::json::parse(saved.training.rest);
    const std::int64_t step = rest.at("step");
    const auto lost =
        std::count_if(lost_.begin(), lost_.end(), [&](auto seq) { return static_cast<std::int64_t>(seq) <= step; });
    CHECK(rest.at("lost") == lost);
    return step;
}

void witness::look_at_the_dead() {
    look();
    lost_now_ = false;
    if (finished()) return;
    const auto step = checkpointed();
    const auto lost_before = lost_.size();
    for (const auto& charged : ledger_.charges)
        if (charged->step > step && released_.count(charged->seq) == 0) lost_.insert(charged->seq);
    CHECK(lost_.size() <= lost_before + 1);
    if (look_pending()) lost_looks_.insert(ledger_.looks.back()->step);
    for (const auto& look : ledger_.looks) CHECK(looks_.count(look->step) + lost_looks_.count(look->step) == 1);
    // The lines of steps before the checkpoint can't be made again.
    for (std::int64_t made = 1; made <= step; ++made)
        CHECK(shown_.count(made) + lost_.count(static_cast<std::uint64_t>(made)) == 1);
    lost_now_ = lost_.size() > lost_before;
}

bool witness::pending() {
    if (finished() || ledger_.torn) return false;
    if (look_pending()) return true;
    if (ledger_.charges.empty()) return false;
    const auto& last = ledger_.charges.back();
    return last->step > checkpointed() && released_.count(last->seq) == 0 && lost_.count(last->seq) == 0;
}

void witness::tear(std::size_t bytes) {
    const auto whole = std::filesystem::file_size(where_.ledger());
    std::filesystem::resize_file(where_.ledger(), whole - bytes);
    hashes_.pop_back();  // the line that replaces it may be another
}

}  // namespace rldp::testing
