// The card beside an adapter: what it promises is the ledger's, and the licence is the base's or nobody's.
#include "eval/report/model_card.hpp"

#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/eval/sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

eval::card_facts facts_of(const std::vector<std::string>& set = {}) {
    const auto config = small_config(set);
    eval::card_facts out{.promised = privacy::make_contract(make_header(config, *make_spending_policy(config))),
                         .ledger_head = "0123abcd",
                         .weights_digest = "feed",
                         .license = std::nullopt};
    out.promised.expected_batch_size = 64;
    return out;
}

}  // namespace

TEST_CASE("a card says base, contract, digests and use") {
    auto run = sample_summary();
    run.model = "org/base";
    auto facts = facts_of();
    auto card = eval::model_card(run, facts);
    CHECK(card.starts_with("---\nbase_model: \"org/base\"\nlibrary_name: peft\n"));
    for (const char* part : {"| ε | ", "| δ | 1e-05 |", "| unit | each record |", "    0123abcd\n", "`feed`",
                             "## Intended use", "PeftModel.from_pretrained(base"})
        CHECK(has(card, part));
    CHECK_FALSE(has(card, "icence"));
    facts.license = "apache-2.0";
    facts.is_whole = true;
    run.model = "a directory";
    card = eval::model_card(run, facts);
    CHECK(card.starts_with("---\nlicense: apache-2.0\nlibrary_name: transformers\n"));
    CHECK(has(card, "## Licence"));
    CHECK_FALSE(has(card, "peft"));
}

TEST_CASE("a card names the group, and without a guarantee no number") {
    CHECK(has(eval::model_card(sample_summary(), facts_of({"privacy.unit={\"group\": \"patient\"}"})),
              "all records that share a value of `patient`"));
    const auto none = eval::model_card(sample_summary(), facts_of({"noise.insecure_reproducible=true"}));
    CHECK(has(none, "**NO GUARANTEE.**"));
    CHECK_FALSE(has(none, "| ε |"));
}

TEST_CASE("a licence is a word of the base's own card") {
    const scratch_directory at;
    const auto found = [&](const std::string& card) {
        at.write("README.md", card);
        return eval::read_license(at.path());
    };
    CHECK_FALSE(eval::read_license(at.path() / "nowhere"));
    CHECK(found("---\nlanguage: en\nlicense: apache-2.0\n---\n# A model\n") == "apache-2.0");
    CHECK(found("---\r\nlicense: \"mit\"\r\n---\r\n") == "mit");
    CHECK_FALSE(found("# A model\nlicense: mit\n"));
    CHECK_FALSE(found("---\nlanguage: en\n---\nlicense: mit\n"));
    CHECK_FALSE(found("---\nlicense: [mit, other]\n---\n"));
    CHECK_FALSE(found("---\nlicense:\n---\n"));
    CHECK_FALSE(found(""));
}
