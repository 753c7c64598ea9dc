#include "rl/prepare/prepared_controller.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "config/base/error.hpp"
#include "config/base/require.hpp"

namespace rldp::rl {

prepared_controller::prepared_controller(std::shared_ptr<const prepared_policy> how, const run_terms& terms)
    : how_(std::move(how)), terms_(terms), last_(neutral(terms.adapters)) {
    require(!how_->parts().probed, "a run shows its controller no public records");
    require(terms.adapters > 0, "a controller needs adapters");
    require_positive(terms.noise_multiplier, "the noise multiplier");
}

sight prepared_controller::sight_of(const outlook& seen) const {
    require(seen.signs.size() == terms_.adapters, "a prepared controller needs the signs of every adapter");
    sight out;
    out.global = {seen.time,
                  std::log(terms_.noise_multiplier * std::sqrt(terms_.numbers) / terms_.batch),
                  std::log(terms_.epochs),
                  0,
                  0,
                  last_.rate};
    for (std::size_t i = 0; i < terms_.adapters; ++i) {
        const auto& one = seen.signs[i];
        out.adapters.push_back(
            {one.signal, one.cosine, one.along, std::log(one.update), last_.rates[i], last_.shares[i]});
    }
    return out;
}

dials prepared_controller::decide(const outlook& seen) {
    dials out;
    out.noise_multiplier = terms_.noise_multiplier;
    if (!how_->parts().passed) return out;
    const auto now = sight_of(seen);
    last_ = how_->act(now);
    out.trust = how_->trust(now);
    out.shares = shares_of(last_);
    out.lr_factor = std::exp(last_.rate);
    for (const double rate : last_.rates) out.rates.push_back(std::exp(rate));
    return out;
}

std::string prepared_controller::save() const {
    return nlohmann::json{{"rate", last_.rate}, {"rates", last_.rates}, {"shares", last_.shares}}.dump();
}

void prepared_controller::load(const std::string& bytes) try {
    const auto in = nlohmann::json::parse(bytes);
    last_ = {in.at("rate"), in.at("rates"), in.at("shares")};
    refuse_unless(last_.rates.size() == terms_.adapters && last_.shares.size() == terms_.adapters,
                  "controller checkpoint: it is of another number of adapters; bring back the run's own");
} catch (const nlohmann::json::exception& reason) {
    refuse(std::string("controller checkpoint: ") + reason.what() + "; it is damaged, resume from an older one");
}

}  // namespace rldp::rl
