#include "models/tokenizer/word_cache.hpp"

#include <memory>
#include <string>

namespace rldp::models {

namespace {

constexpr std::size_t most_words = 1 << 16;  // some 10 MB
constexpr std::size_t slots = 2 * most_words;

}  // namespace

struct word_cache::entry {
    std::size_t hash;
    std::string word;
    std::vector<std::int32_t> ids;

    bool is(std::string_view other, std::size_t other_hash) const { return hash == other_hash && word == other; }
};

word_cache::word_cache() : slots_(slots) {}

word_cache::~word_cache() {
    for (const auto& slot : slots_) delete slot.load();
}

bool word_cache::find(std::string_view word, std::size_t hash, std::vector<std::int32_t>& out) const {
    for (auto at = hash % slots;; at = (at + 1) % slots) {
        const auto* found = slots_[at].load(std::memory_order_acquire);
        if (found == nullptr) return false;
        if (!found->is(word, hash)) continue;
        out.insert(out.end(), found->ids.begin(), found->ids.end());
        return true;
    }
}

void word_cache::insert(std::string_view word, std::size_t hash, const std::vector<std::int32_t>& ids) {
    // Half of the slots stay free, so that every search ends.
    if (words_.load(std::memory_order_relaxed) >= most_words || words_.fetch_add(1) >= most_words) return;
    auto made = std::make_unique<const entry>(entry{hash, std::string(word), ids});
    for (auto at = hash % slots;; at = (at + 1) % slots) {
        const entry* there = nullptr;
        if (slots_[at].compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) {
            made.release();
            return;
        }
        if (there->is(word, hash)) return;  // another thread was faster
    }
}

}  // namespace rldp::models
