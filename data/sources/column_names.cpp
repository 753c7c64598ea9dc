#include "data/sources/column_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

namespace rldp::data {

namespace {

using word_list = std::vector<std::string>;
using list = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view word, list known) {
    return std::find(known.begin(), known.end(), word) != known.end();
}

bool has_one_of(const word_list& in, list known) {
    return std::any_of(in.begin(), in.end(), [&](const auto& word) { return is_one_of(word, known); });
}

/// Letters as they are written without marks: "número", "Schüler" and "prénom" are numero, schuler, prenom.
std::string without_marks(std::string word) {
    static constexpr std::array<std::pair<std::string_view, char>, 24> marked{
        {{"á", 'a'}, {"à", 'a'}, {"â", 'a'}, {"ã", 'a'}, {"ä", 'a'}, {"å", 'a'}, {"é", 'e'}, {"è", 'e'},
         {"ê", 'e'}, {"ë", 'e'}, {"í", 'i'}, {"ì", 'i'}, {"ï", 'i'}, {"ó", 'o'}, {"ò", 'o'}, {"ô", 'o'},
         {"õ", 'o'}, {"ö", 'o'}, {"ú", 'u'}, {"ù", 'u'}, {"ü", 'u'}, {"ñ", 'n'}, {"ç", 'c'}, {"ß", 's'}}};
    for (const auto& [from, to] : marked)
        for (std::size_t at; (at = word.find(from)) != std::string::npos;) word.replace(at, from.size(), 1, to);
    return word;
}

/// Numbers and keys, as words of their own. "No" and "num" number something where they end a name only: "no_shows",
/// "num_visits" count.
bool is_key(const word_list& in, std::size_t at) {
    const auto& word = in[at];
    if (is_one_of(word, {"id", "ids", "uuid", "guid", "key", "nr", "nbr", "ident", "identifier", "pk"})) return true;
    if (is_one_of(word, {"numero", "nummer", "numer", "kennung", "kennzeichen", "matricola", "matricule", "kenmerk"}))
        return true;
    return at + 1 == in.size() && is_one_of(word, {"no", "num", "number", "nro"});
}

/// Somebody, by a word of its own: a record's subject, a customer, a holder.
bool is_somebody(std::string_view word) {
    return is_one_of(
        word,
        {"patient",     "patients",   "person",      "customer",     "client",       "user",        "member",
         "subject",     "employee",   "household",   "insured",      "insuree",      "borrower",    "student",
         "pupil",       "guest",      "participant", "donor",        "applicant",    "citizen",     "policyholder",
         "account",     "subscriber", "author",      "owner",        "holder",       "tenant",      "resident",
         "beneficiary", "cardholder", "voter",       "taxpayer",     "respondent",   "caller",      "driver",
         "rider",       "passenger",  "buyer",       "shopper",      "enrollee",     "claimant",    "offender",
         "inmate",      "defendant",  "plaintiff",   "physician",    "doctor",       "nurse",       "provider",
         "patienten",   "kunde",      "kunden",      "versicherter", "versicherten", "mitarbeiter", "mitglied",
         "mitglieder",  "benutzer",   "nutzer",      "schuler",      "proband",      "probanden",   "konto",
         "klient",      "klienten",   "burger",      "arzt",         "bewohner",     "mieter",      "spender",
         "assure",      "adherent",   "utilisateur", "usager",       "abonne",       "salarie",     "eleve",
         "compte",      "locataire",  "medecin",     "paciente",     "cliente",      "usuario",     "empleado",
         "socio",       "asegurado",  "afiliado",    "alumno",       "cuenta",       "titular",     "medico",
         "paziente",    "utente",     "assistito",   "dipendente",   "conto",        "utilizador",  "aluno",
         "conta",       "segurado",   "klant",       "gebruiker",    "medewerker",   "lid",         "verzekerde",
         "rekening",    "pacjent",    "uzytkownik",  "pracownik",    "cust",         "acct",        "emp",
         "pat",         "pt",         "usr"});
}

/// Numbers that are somebody's by their own names.
bool is_persons_number(std::string_view word) {
    return is_one_of(word,
                     {"mrn", "nhs", "pid",  "uid",  "ssn",    "sin",  "nino",   "cpf",     "rut",    "curp", "nif",
                      "dni", "nie", "bsn",  "ahv",  "svnr",   "nir",  "insee",  "pesel",   "hic",    "mbi",  "npi",
                      "chi", "nhi", "empi", "ehic", "msisdn", "imsi", "subjid", "usubjid", "aadhaar"});
}

/// "userid", "custno", "patientid", "kundennummer", "versichertennr": somebody and a number in one word.
bool is_somebodys_number(std::string_view word) {
    for (const std::string_view ending :
         {"identifier", "numero", "nummer", "number", "guid", "uuid", "nbr", "num", "nr", "id", "no"})
        if (word.size() > ending.size() && word.ends_with(ending)) {
            auto stem = word.substr(0, word.size() - ending.size());
            if (is_somebody(stem)) return true;
            if (stem.ends_with('s') && is_somebody(stem.substr(0, stem.size() - 1))) return true;
        }
    return false;
}

/// A number of something, in one word: "kennnummer", "casenumber", "ordernr".
bool is_some_number(std::string_view word) {
    for (const std::string_view ending : {"nummer", "numero", "number", "guid", "uuid"})
        if (word.size() > ending.size() && word.ends_with(ending)) return true;
    return false;
}

/// What makes a number a code of a few kinds: "admission_type_id", "discharge disposition id", "payer code".
bool is_of_kinds(const word_list& in) {
    return has_one_of(in, {"type",   "types",  "kind",      "status", "state",     "source", "disposition",
                           "code",   "class",  "category",  "level",  "group",     "grade",  "reason",
                           "method", "mode",   "stage",     "typ",    "art",       "gruppe", "klasse",
                           "tipo",   "estado", "categoria", "genre",  "categorie", "soort",  "rodzaj"});
}

bool is_row_number(const word_list& in) {
    return in.empty() ||
           (in.size() <= 2 && has_one_of(in, {"index", "idx", "unnamed", "rowid", "row", "rownum", "lfdnr", "lfd"}));
}

bool is_identity(const word_list& in) {
    if (has_one_of(
            in, {"surname",     "firstname",    "lastname",   "fullname",      "maidenname", "email",      "mail",
                 "phone",       "telephone",    "telefon",    "tel",           "telefono",   "mobile",     "handy",
                 "fax",         "address",      "adresse",    "anschrift",     "direccion",  "indirizzo",  "endereco",
                 "street",      "strasse",      "calle",      "rue",           "iban",       "passport",   "ip",
                 "url",         "login",        "username",   "password",      "dob",        "birthdate",  "birthday",
                 "dateofbirth", "geburtsdatum", "geburtstag", "geboortedatum", "naissance",  "nacimiento", "nascita",
                 "nascimento",  "vorname",      "nachname",   "familienname",  "prenom",     "apellido",   "apellidos",
                 "apelido",     "cognome",      "naam",       "achternaam",    "voornaam",   "nazwisko",   "imie"}))
        return true;
    if (has_one_of(in, {"birth", "born", "geburt"}) && has_one_of(in, {"date", "day", "datum", "tag"})) return true;
    const bool named = has_one_of(in, {"name", "nom", "nombre", "nome"});
    if (!named) return false;
    return in.size() == 1 ||
           has_one_of(in, {"first", "last", "full", "middle", "given", "family", "maiden", "sur", "nick", "legal",
                           "birth", "de", "del", "contact", "my"}) ||
           std::any_of(in.begin(), in.end(), is_somebody);
}

}  // namespace

std::vector<std::string> words_of_name(std::string_view name) {
    std::vector<std::string> out;
    bool fresh = true, lower_before = false;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        const bool letter = std::isalnum(byte) != 0 || byte >= 0x80;
        const bool upper = std::isupper(byte) != 0;  // of ASCII alone, as the locale is C
        if (letter && (fresh || (upper && lower_before))) out.emplace_back();
        if (letter) out.back() += static_cast<char>(std::tolower(byte));
        fresh = !letter;
        lower_before = std::islower(byte) != 0;
    }
    return out;
}

naming classify_name(std::string_view name) {
    auto in = words_of_name(name);
    std::transform(in.begin(), in.end(), in.begin(), without_marks);
    if (is_row_number(in)) return naming::thing;
    if (is_identity(in)) return naming::identity;
    if (is_of_kinds(in)) return naming::nothing;
    bool keyed = false;
    for (std::size_t i = 0; i < in.size(); ++i) keyed = keyed || is_key(in, i);
    if (std::any_of(in.begin(), in.end(), is_persons_number) || std::any_of(in.begin(), in.end(), is_somebodys_number))
        return naming::person;
    const bool somebody = std::any_of(in.begin(), in.end(), is_somebody);
    // "patient", "case_owner", "patient no"; but "patient_age" and "account balance" tell a value.
    if (somebody && (keyed || is_somebody(in.back()))) return naming::person;
    return keyed || std::any_of(in.begin(), in.end(), is_some_number) ? naming::thing : naming::nothing;
}

bool names_a_target(std::string_view name) {
    return has_one_of(words_of_name(name), {"target", "label", "class", "outcome", "readmitted", "churn", "churned",
                                            "default", "response", "diagnosis", "approved", "fraud", "y"});
}

bool names_free_text(std::string_view name) {
    return has_one_of(words_of_name(name),
                      {"note",    "notes",  "text",    "comment",   "comments", "description", "narrative",
                       "summary", "report", "history", "remark",    "remarks",  "message",     "body",
                       "review",  "letter", "befund",  "bemerkung", "notiz",    "kommentar",   "observaciones"});
}

}  // namespace rldp::data
