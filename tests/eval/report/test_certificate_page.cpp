#include "eval/report/certificate.hpp"

#include "tests/catch.hpp"
#include "tests/eval/report/fake_finished_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rldp;
using namespace rldp::testing;

namespace {

privacy::certificate made_from(const std::vector<std::string>& set = {}) {
    const auto config = small_config(set);
    privacy::certificate out;
    out.promised = privacy::make_contract(make_header(config, *make_spending_policy(config)));
    out.promised.expected_batch_size = 64;
    out.program = "1.2.3";
    return out;
}

}  // namespace

TEST_CASE("the certificate's page says what, for whom, how strongly, what is outside, and how to check") {
    const scratch_directory dir;
    auto made = made_from();
    const auto key = privacy::signing_key::create(dir / "owner");
    made.signer = key.public_half();
    const auto page = eval::certificate_page(made);
    for (const char* part : {"What is protected", "For whom", "each record", "How strongly", "1 to 1",
                             "1 to 10\u202f000", "88 %", "What is outside", "Running time", "How to check it",
                             "rldp verify DIRECTORY --key OWNER.pub", "signed by key"})
        CHECK(has(page, part));
    CHECK(has(page, key.public_half().fingerprint()));
    CHECK_FALSE(has(page, "nsigned:"));
    CHECK_FALSE(has(page, "NO GUARANTEE"));
    CHECK_FALSE(has(page, "Held-out perplexity"));
    CHECK_FALSE(has(page, "<script"));
}

TEST_CASE("the certificate's page says who, on what, for which runs, and what an attacker can tell") {
    auto made = made_from();
    made.run = "Ward <7>";
    made.data = "patients&co.csv";
    made.risk = privacy::risk_statement{{{0.001, 0.0123}, {0.01, 0.05}, {0.1, 0.2}}, 0.2, 0.7, 0.01};
    auto page = eval::certificate_page(made);
    for (const char* part :
         {"Ward &lt;7&gt;", "patients&amp;co.csv", "this run alone", "No budget book counts it", "12.3"})
        CHECK(has(page, part));
    made.in_book = true;
    made.promised.runs = 4;
    page = eval::certificate_page(made);
    CHECK(has(page, "the others of its tuning, 4 in all"));
    CHECK(has(page, "budget book counts it with"));
}

TEST_CASE("the certificate's page names the group, the padding and the split") {
    auto made = made_from({"privacy.unit={\"group\": \"<b>patient\"}", "data.split=exact", "eval.publish=raw"});
    made.promised.max_records_per_unit = 16;
    auto page = eval::certificate_page(made);
    CHECK(has(page, "&lt;b&gt;patient"));
    CHECK_FALSE(has(page, "<b>patient"));
    CHECK(has(page, "at most 16"));
    CHECK(has(page, "The split into training"));
    CHECK(has(page, "Held-out perplexity"));
    made.promised.pad_batches = true;
    CHECK_FALSE(has(eval::certificate_page(made), "Running time"));
}

TEST_CASE("the certificate's page is the same whatever the files hold") {
    auto one = made_from(), two = made_from();
    two.files = {{"adapter/adapter_model.safetensors", "another"}};
    two.ledger_head = "another";
    CHECK(eval::certificate_page(one) == eval::certificate_page(two));
}
