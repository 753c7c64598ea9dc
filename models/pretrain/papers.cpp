// Reports, lists and notes in the synthetic prose. They know wards and clinics, but nothing of the narratives'
// template.
#include "models/pretrain/grammar.hpp"

namespace rldp::models {

const std::string_view prose_papers = R"(
weather = {*4-9 forecast}|Forecast for {spot:town}, {date}. {*3-7 forecast};
forecast = {Weather_word} in {town}.|{When}, {wind} with {sky}.|Temperatures between {#1-12} and {#13-35} degrees.|{sky_cap} over the {place}.
  |{#1-90} millimeters of rain are expected {when}.|Snow above {#400-2400} meters.|{wind_cap}, later {sky}.|The night will be {weather_word}.
  |Tomorrow it will be {weather_word} with {sky}.|The lowest reading was minus {#1-30} degrees in {town}.|Fog {where} until {clock}.
  |It will become {weather_word} {when}.|The water of the lake is at {#8-26} degrees.|Less than {#2-20} percent of the sky is covered.;
wind = light wind from the {compass}|strong wind|a storm from the {compass}|calm air|gusts of up to {#30-120} kilometers per hour;
wind_cap = Light wind from the {compass}|Strong wind|Storm from the {compass}|Calm air;
sky = some clouds|clear sky|heavy rain|showers|thunder|bright intervals|drizzle|snow;
sky_cap = Clouds|Clear sky|Heavy rain|Showers|Thunder|Sunshine|Fog;
compass = north|south|east|west|northwest|southeast|northeast|southwest;

ward = {*5-14 round}|Ward {#1-20}, {daypart} shift. {*5-14 round}|Clinic on {street}, {date}. {*5-14 round};
round = The {medic} {checked} the {organ} of {title} {surname}.|Bed {#1-40} is {bed_state}.|{title} {surname} complained of {complaint}.
  |The {medic} asked for {test}.|{Test} was {finding}.|Temperature {#36-40}.{@9}, pulse {#52-130}.|Blood pressure {#95-190} over {#55-110}.
  |{who:person} slept well and ate some {food}.|A tablet was given at {clock}.|The {medic} ordered {quantity} of bandages.
  |The visitors left at {clock}.|{title} {surname} may go home on {weekday}.|The {organ} is {healing}.|The {complaint} began {when}.
  |The {medic} {changed} the dressing on the {organ}.|The family was told about {test}.|No {complaint} was reported {when}.
  |A new {medic} starts on {weekday}.|The lift to the third floor is {state}.|{who:person} walked to the window with the {medic}.
  |An older man with {complaint} came in by ambulance.|A young woman with a broken {organ} was brought to room {#1-99}.
  |Surgery on the {organ} is planned for {date}.|The doses were {dose_change} after {test}.|The patients in room {#1-99} are {feeling}.
  |A child of {#2-15} years was seen for {complaint}.|The pharmacy sent {quantity} of {remedy}.|{Remedy} helped against the {complaint}.
  |The {medic} explained the {remedy} to {title} {surname}.|The discharge papers are on the desk of the {medic}.
  |Admission desk: {count} people waiting, {count} beds free.|The insurance letter for {title} {surname} has arrived.;
checked = checked|examined|washed|treated|looked at;
changed = changed|renewed|removed;
medic = doctor|nurse|surgeon|matron|specialist|assistant|midwife|physician|therapist|night nurse;
organ = heart|left knee|right arm|back|throat|stomach|lung|ear|eye|shoulder|ankle|hip|hand|skin|foot|liver|wrist;
bed_state = free|taken|being cleaned|reserved for {title} {surname}|near the window|to be moved;
complaint = pain|fever|a cough|headache|dizziness|a rash|swelling|weakness|thirst|nausea|a sore throat|poor sleep|an infection;
test = an X-ray|a blood test|a scan|a urine sample|a second opinion|the laboratory report|a heart trace|an eye test|a sugar test;
finding = normal|not normal|repeated on {weekday}|unclear|better than before|lost|sent to {town}|negative|positive|slightly raised;
healing = healing|much better|still swollen|no better|clean and dry|painful at night|stiff in the morning;
dose_change = lowered|raised|halved|doubled|left as they were|reviewed|stopped;
remedy = ointment|cough syrup|eye drops|vitamins|herbal tea|painkillers|rest|exercise|iron tablets|antibiotics|warm baths|{made}|{made}|{made}|{cure:made}|{cure:made};

news = {town}, {date}. {*4-8 report}|{*5-9 report};
report = The mayor of {town} opened a new {building} {when}.|{Count} {job}s were honored {where}.|The price of {food} rose by {#2-40} percent.
  |A fire broke out at the {building} on {street}.|The {building} will be closed until {date}.|{title} {surname}, a~ {job}, won {money}.
  |According to {title} {surname}, the {place} is {state}.|More than {#100-9000} people visited the {building}.
  |The council decided to {verb_base} the {adjective} {building}.|A~ {animal} was seen near the {building} in {town}.
  |The team from {town} beat {town} by {#2-9} to {#0-1}.|Train {#100-999} to {town} was {#5-90} minutes late.
  |A~ {job} from {town} was arrested {when}.|The cause is not yet known.|Nobody was hurt.|The work began in {year} and ended in {year}.
  |Only {#2-49} of {#50-99} {job}s agreed.|The report has {#12-480} pages.;

facts = {*4-9 fact};
fact = The {job} {verb_now} {object} every {season}.|A~ {job} often {verb_now} {object}.A~ {tool} is used to {verb_base} things.|{Animal}s live near the {place}.|The {tree} is a tree with {size} leaves.|A week has seven days.
  |A~ {job} works in a~ {building}.|{Food} is made with {food} and {drink}.|The {flower} is {color} or {color}.|Most {animal}s are {feeling} in {season}.
  |{month} comes before {season} in some countries.|{#2-12} times {#2-12} is a number below 200.|A~ {fruit} is sweeter than a~ {vegetable}.
  |In {year} the first {building} was built in {town}.|Water boils at 100 degrees.|A~ {thing} can be {state} or {state}.|{town} lies on the {compass} coast.
  |The {building} of {town} is {#8-90} meters high.|Not every {animal} can swim.|There are {#28-31} days in some months.
  |The first, second and third {building}s are {color}.|The number after {#1-99} is larger.;

stock = {*5-14 item}|Stock list of {date}. {*5-12 item}|{*4-8 order};
item = {quantity} of {food}.|{#2-300} {thing}s, {color}.|{#2-90} {adjective} {tool}s, {money} each.|{Thing}: {#2-99}.|{Tool}s: none.
  |{Vegetable}s ({quantity}), from {town}.|shelf {@A9}: {count} {thing}s.|no {fruit}s until {weekday}.|{Fruit}s: {#2-99}, {vegetable}s: {#2-99}.
  |{thing} {@99-A}, {state}, {money}.|{color} {garment}, size {#34-48}.|{#2-60} boxes of {made}.|{made} and {made}, {money}.;
order = Order {code}: {#2-90} {thing}s for {title} {surname}, due {date}.|Order {code} was sent to {town} {when}.|Order {code} is {order_state}.
  |Invoice {#1000-9999}: {money}, paid.|Invoice {#1000-9999}: {money}, not paid.|Parcel {code} weighs {#1-30}.{@9} kilos.
  |The {thing}s of order {code} are {state}.;
order_state = open|closed|late|ready|lost|on its way|not paid|not complete|with the {job};

labels = {*8-20 label}|Check of the {building}. {*6-18 label}|{*8-24 same_label}|{*4-9 label} {*6-14 same_label} {*3-8 label};
label = {noun} is {state}.|{noun} is {color}.|{thing} and {thing} are {state}.|{room} is {state}.|the {thing} is {where}.|the {tool} is {state}.
  |{key} is {code}.|{key} {code} is {state}.|number of {thing}s is {#0-99}.|{drink} is {state}.|the {adjective} {thing} was {verb_past}.
  |{building} type is {kind}.|the {job} had {count} {thing}s.|the {job} had no {thing}s this {season}.|{color} {thing} is not {verb_past}.
  |{place} is in {town}.|owner is {person} {surname}.|size is {#1-99}.|price is {money}.|color is {color}.|{thing} color is {color}.
  |{key}={code}.|{key}_{@a}={code}.|{key}={@XXXXXX}.|{made} is {state}.|{made} is {color}.|{made}-{made} is {state}.|{made} {thing} is {state}.
  |the {job}'s {made} was {verb_past}.;
same_label = {thing} is {mood:mood}.|{tool} is {mood:mood}.|{fruit} is {mood:mood}.|{vegetable} is {mood:mood}.|{flower} is {mood:mood}.|{garment} is {mood:mood}.|{made} is {mood:mood}.|{made} is {mood:mood}.|{made}-{made} is {mood:mood}.;
mood = not needed|not here|on the list|for sale|in the {room}|not {verb_past}|{verb_past}|{state}|to be {verb_past}|with {person};
kind = new|public|private|mixed|wooden|stone|rural|urban|temporary|closed|of the first class|of the second class;

survey = {*6-18 reply}|Survey of {spot:town}, {year}. {*6-16 reply};
reply = {#2-90} of the {job}s own a~ {thing}.|the {animal} is between {#1-6} and {#7-18} years old.|the {job} lives {where}.|the {building} has {#2-40} rooms.
  |the {job} worked there for {#2-40} years.|the {relative} had {#2-9} {animal}s in the year before.|answer {#1-40} is {code}.|question {#1-40} has no answer.
  |the first answer was {reply_word}.|the second answer was {reply_word}.|another answer was {reply_word}.|the {thing}s were {verb_past} {when}.
  |the family moved from {town} to {town}.|the {job} was paid {money}.|the {animal}s were counted {when}.|fewer than {#10-90} {job}s replied.
  |the visit took less than {#10-90} minutes.|the {job}'s {thing}s were {verb_past}.|the {relative} traveled for {#2-30} days.;
reply_word = yes|no|never|often|not sure|{feeling}|{state}|{color}|{#1-99}|none|always|other;

minutes = Meeting at the {building} in {spot:town}, {date}. Present: {person} {surname}, {person} {surname} and {count} others. {*4-9 point};
point = {#1-12}. The {thing}s were {verb_past}.|{#1-12}. {person} {surname} will {verb_base} the {thing}.|{#1-12}. {money} for the {building} was agreed.
  |{#1-12}. The {job} asked {someone} to {verb_base} {object}.|{#1-12}. Nobody was against it.|{#1-12}. The {building} needs {quantity} of paint.
  |{#1-12}. Next meeting: {date}, {clock}.|{#1-12}. The {job}'s report was read ({#2-40} pages).|{#1-12}. The {place} (see page {#2-90}) is {state}.;

codes = {*5-14 coded}|List of {key}s, {date}: {*6-14 coded};
coded = {key} {code}.|{code} {noun}.|{code}, {code}, {code}.|{Key} {code}: {noun}.|{key}={code}.|{code} [{#0-49}-{#50-99}).|{code}/{code} ({state}).|{@AAAA} >{#1-9}.
  |{#1-99} {code} {person}.|telephone {@999 9999}.|from {code} to {code}.|{@aaaa}_{@aa} is {code}.|{key}_{key}={code}.|old {key} {code}, new {key} {code}.;

leaflet = {*5-12 leaf};
leaf = The {kin:made} is a~ {size} {flower} from {town}.|The {kin:made} was first described by {person} {surname} in {year}.|{Kin:made} grows {where}.
  |Leaves of the {kin:made} contain {made}, {made} and {made}.|{Kin:made} and {made} are often confused.|The {made} of {town} is {color}.
  |{Kin:made} is used against {complaint}.|Tea of {kin:made} is {color} and {state}.|{made}-{made} is a mixture of both.|Of {count} kinds of {kin:made}, {count} are {color}.
  |The {animal}s of {town} eat {kin:made}.|A kilo of {kin:made} costs {money}.|Do not mix {kin:made} with {made}.|The word {kin:made} means {thing} in the old language.;

gazette = {*5-12 notice};
notice = The boat race from {town} to {town} was won by {person} {surname}.|The weight of the {thing} was {#1-90} kilos.|The number of visits rose to {#20-900}.
  |An unknown {job} left {object} {where}.|The source of the river is near {town}.|{person} goes to the secondary school in {town}.|Red, blue and yellow are primary colors.
  |An additional {thing} was {verb_past} {when}.|This type of {tool} was {verb_past} in {year}.|Admission to the {building} costs {money}.
  |The discharge of the river was measured {where}.|{person} had a strange encounter with a~ {animal}.|The procedure was explained in {#2-9} steps.
  |The medication was kept in the {room}.|The transfer of the {job} to {town} was {verb_past} {when}.|The skilled {job}s of {town} {verb} {object}.
  |The preceding chapter describes the {building}.|The emergency exit is {where}.|The patient {job} {verb} {object}.|The codes have {#2-9} digits, the first three are letters.
  |The result was between {#1-40} and {#41-99}.|Her specialty was {food} with {fruit}s.|The facility {where} was {state}.|The referral came {when}.
  |The profile of the hill is {size}.|The rates of the bank increased by {#1-9} percent and then decreased.|No {job} from {town} was there.|The {job} remained {feeling} and unchanged.
  |The physician prescribed {remedy}.|The serum from {town} arrived {when}.|The hospital of {town} has {#20-900} beds.|The medical library opens {when}.
  |Her diagnosis was {complaint}.|The encounter lasted {count} minutes.|Laboratory {@A9} is {where}.|A second, third and fourth {thing} were {verb_past}.
  |The payer signed {when}.|A~ {job} stayed with {person} for {#2-30} days.|Other {job}s were not {feeling}.|The weights are {#1-9}, {#10-20} and {#21-50}.;
)";

}  // namespace rldp::models
