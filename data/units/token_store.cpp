#include "data/units/token_store.hpp"

#include <utility>

#include "data/units/corpus_file.hpp"

namespace rldp::data {

token_store::token_store(const std::vector<token_unit>& units) {
    for (const auto& one : units) push_back(one);
}

token_store::token_store(std::shared_ptr<const corpus_file> file) : file_(std::move(file)) {}

std::size_t token_store::filed() const {
    return file_ ? file_->size() : 0;
}

std::size_t token_store::size() const {
    return filed() + (first_.empty() ? 0 : first_.size() - 1);
}

unit_view token_store::operator[](std::size_t unit) const {
    if (unit < filed()) return (*file_)[unit];
    unit -= filed();
    unit_view out;
    for (auto r = first_[unit]; r < first_[unit + 1]; ++r) {
        const auto& [block, begin, length] = records_[r];
        if (length == 0) continue;
        out.records.emplace_back(blocks_[block].data() + begin, length);
    }
    if (const auto canary = gradient_canaries_.find(unit); canary != gradient_canaries_.end())
        out.gradient_canary = canary->second;
    return out;
}

void token_store::push_back(const token_unit& unit) {
    if (unit.gradient_canary) gradient_canaries_[first_.size() - 1] = *unit.gradient_canary;
    for (const auto& tokens : unit.records) {
        records_.push_back({static_cast<std::uint32_t>(blocks_.size()), 0, static_cast<std::uint32_t>(tokens.size())});
        blocks_.push_back(tokens);
    }
    first_.push_back(static_cast<std::uint32_t>(records_.size()));
}

void token_collector::begin(std::vector<std::uint32_t> first, int threads) {
    open_.resize(static_cast<std::size_t>(threads));
    growing_.resize(open_.size());
    made_.records_.resize(first.back());
    made_.first_ = std::move(first);
    settle();
}

void token_collector::take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) {
    auto& home = growing_[worker];
    made_.records_[record] = {open_[worker], static_cast<std::uint32_t>(home.size()),
                              static_cast<std::uint32_t>(tokens.size())};
    home.insert(home.end(), tokens.begin(), tokens.end());
}

void token_collector::settle() {
    for (std::size_t worker = 0; worker < growing_.size(); ++worker) {
        auto& home = growing_[worker];
        if (!home.empty()) made_.blocks_[open_[worker]].assign(home.begin(), home.end());
        if (!home.empty() || made_.blocks_.size() < growing_.size()) {
            open_[worker] = static_cast<std::uint32_t>(made_.blocks_.size());
            made_.blocks_.emplace_back();
        }
        home.clear();
    }
}

token_store token_collector::finish() {
    settle();
    return std::move(made_);
}

}  // namespace rldp::data
