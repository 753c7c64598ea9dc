#include "actors/run/join.hpp"

#include "actors/run/kept_corpus.hpp"
#include "actors/run/prepared.hpp"
#include "actors/run/test_hooks.hpp"
#include "config/base/error.hpp"

namespace rldp::actors {

joined_run join_run(const config::run_config& asked, const std::filesystem::path& directory, const opening& how,
                    ranks::team& team) {
    // What public records teach, rank 0 tells with the adapter.
    const auto kept = cached_corpus::of_run(config::to_reading_spec(asked), directory, how.corpora, false);
    auto ready = load_run_inputs(asked, [](const auto&, run_model model) { return model; }, kept.get(), {.identify = true});
    team.agree(common_facts(ready));
    const auto key = team.share({});
    auto book = std::make_shared<privacy::ledger_copy>(team.broadcast());
    const auto hmac = test_hooks::data_hmac(key.hmac(ready.data.digest));
    refuse_unless(
        book->content().header.data_hmac == hmac,
        "the ledger of rank 0 was begun on other training data than data.path " + asked.data.path + " gives here");
    const auto who = eval::membership_from(team.broadcast(), "what rank 0 says of the audit's canaries");
    auto closed = take_secrets(ready, key, who);
    return {std::move(ready.spec), std::move(ready.plan), std::move(ready.model), std::move(book), std::move(closed)};
}

}  // namespace rldp::actors
