#include "privacy/account.hpp"

#include <utility>

namespace rldp::privacy {

account::account(std::unique_ptr<spending_policy> policy, ledger book)
    : policy_(std::move(policy)), book_(std::move(book)), accountant_(make_accountant(book_.content().header.accountant)) {
    for (const auto& past : book_.content().charges) policy_->replay(past.step, {past.noise_multiplier, past.card});
}

std::optional<charge> account::grant(std::int64_t step, double requested) {
    const auto granted = policy_->next(step, requested);
    if (!granted) return std::nullopt;
    return book_.append(step, granted->noise_multiplier, book_.content().header.sample_rate, granted->card);
}

double account::progress_epsilon() const { return progress_epsilon(book_.content().charges.size()); }

double account::progress_epsilon(std::size_t charges) const {
    auto prefix = book_.content();
    prefix.charges.resize(charges);
    const auto runs = prefix.runs();
    return runs.empty() ? 0.0 : accountant_->epsilon(runs, prefix.header.delta);
}

}  // namespace rldp::privacy
