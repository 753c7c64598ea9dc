#include "eval/audit/statistics/jaccard.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "config/base/limits.hpp"

namespace rldp::eval {
namespace {

using grams = std::vector<std::uint32_t>;  // sorted, each once; four bytes make a word

grams list_grams(std::string_view text, std::size_t n) {
    grams out;
    for (std::size_t begin = 0; begin + n <= text.size(); ++begin) {
        std::uint32_t word = 0;
        for (const char c : text.substr(begin, n)) word = word << 8 | static_cast<unsigned char>(c);
        out.push_back(word);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

double compute_jaccard_index(const grams& a, const grams& b) {
    grams shared;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
    const auto all = a.size() + b.size() - shared.size();
    return all == 0 ? 0 : static_cast<double>(shared.size()) / static_cast<double>(all);
}

struct weighed {
    double value, times;
};

similarity summarise_values(const std::vector<weighed>& values) {
    double times = 0, sum = 0, squares = 0;
    for (const auto& one : values) times += one.times, sum += one.times * one.value;
    const double mean = sum / times;
    for (const auto& one : values) squares += one.times * (one.value - mean) * (one.value - mean);
    return {mean, std::sqrt(squares / times)};
}

}  // namespace

bool secret_like(std::string_view text) {
    const auto allowed = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
    return !text.empty() && std::ssize(text) <= limits::longest_secret &&
           std::all_of(text.begin(), text.end(), allowed);
}

std::optional<std::array<similarity, longest_gram>> jaccard(const std::vector<std::string>& generated,
                                                            const std::vector<std::string>& canaries) {
    if (generated.empty() || canaries.empty()) return std::nullopt;
    std::map<std::string_view, double> distinct;
    for (const auto& text : generated) ++distinct[text];
    std::array<similarity, longest_gram> out{};
    for (std::size_t n = 1; n <= longest_gram; ++n) {
        std::vector<grams> of_canaries;
        of_canaries.reserve(canaries.size());
        for (const auto& text : canaries) of_canaries.push_back(list_grams(text, n));
        std::vector<weighed> values;
        for (const auto& [text, times] : distinct) {
            const auto own = list_grams(text, n);
            for (const auto& other : of_canaries) values.push_back({compute_jaccard_index(own, other), times});
        }
        out[n - 1] = summarise_values(values);
    }
    return out;
}

}  // namespace rldp::eval
