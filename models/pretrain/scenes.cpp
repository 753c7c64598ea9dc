// What people do, say and write in the synthetic prose.
#include "models/pretrain/grammar.hpp"

namespace rldp::models {

const std::string_view prose_scenes = R"(
passage = {scene}|{scene}|{scene}|{letter}|{talk}|{weather}|{ward}|{ward}|{diary}|{stock}|{stock}|{labels}|{labels}|{labels}|{survey}|{survey}
  |{recipe}|{route}|{news}|{facts}|{facts}|{minutes}|{minutes}|{codes}|{codes}|{leaflet}|{leaflet}|{leaflet}|{gazette}|{gazette}|{gazette};

scene = {opening} {*3-8 event}|{opening} {*2-4 event} {Quote} {*1-4 event}|{*4-9 event}|{opening} {*2-5 event} {closing}
  |{opening} {*1-3 event} {look} {*1-3 event} {closing};
opening = {When}, {who:person} {went} to the {building} {where}.|{who:person} was a~ {job} who lived {where}.
  |There was once a~ {feeling} {job} called {who:person}.|It was {weather_word} {where}, and {who:person} was {feeling}.
  |{who:person} and {friend:person} {sat} {where} {when}.|The {building} in {spot:town} had a~ {adjective} {thing}.
  |{title} {surname} had {count} {animal}s and a~ {color} {thing}.|Nobody in {spot:town} knew where the {adjective} {thing} was.
  |{When} the {building} was full of {job}s.|On {date}, {who:person} came to {spot:town}.
  |For {count} years {who:person} had worked as a~ {job} {where}.|{who:person} had never seen such a~ {size} {animal}.;
closing = In the end, {someone} {went} home {when}.|After that, {someone} was {feeling}.|And so the {thing} stayed {where}.
  |{someone_cap} never forgot the {adjective} {thing}.|That was the last time {someone} {verb} {object}.
  |The {thing} is still {where} today.|Then it was time to go to bed.|By {clock} everything was {state}.;
someone_cap = {who:person}|{friend:person}|The {job}|Her {relative}|His {relative}|{title} {surname}|The children|The {feeling} {animal}|{person}
  |The old {job}|Everyone|Nobody|One of the {job}s;
event = {someone_cap} {verb} {object} {where}.|{When}, {someone} {verb} {object}.|{someone_cap} {went} to the {building} {manner}.
  |{someone_cap} {sat} {where} {when}.|The {thing} was {state}, {because}.|{someone_cap} {verb} {object} {because}.
  |{someone_cap} {said} that {someone} was {feeling}.|There was a~ {adjective} {thing} {where}.|{He} {verb} {object} and {went} home.
  |It was {weather_word}, but {someone} {sat} {where}.|{someone_cap} wanted to {verb_base} {object}.|{He} had {verb_past} {object} {when}.
  |{someone_cap} did not {verb_base} {object}, {because}.|{someone_cap} asked {someone} to {verb_base} {object}.
  |If {someone} had {verb_past} {object}, the {building} would be {state}.|The {animal} {sat} {where} and was {feeling}.
  |{someone_cap} gave {someone} {object} {when}.|Without {object}, {someone} could not {verb_base} {object}.
  |{someone_cap} had no {tool}, so {someone} {verb} {object}.|The {job} who {verb} {object} was {feeling}.
  |{When}, the {place} was {state} and {state}.|Both {person} and {person} {verb} {object}.|{someone_cap} paid {money} for {object}.
  |It took {count} days to {verb_base} {object}.|The {tree} {where} was {size} and {color}.|{someone_cap} was more {feeling} than {someone}.
  |{He} thought about {object} and {sat} {where}.|Neither the {job} nor the {relative} {verb} {object}.
  |{someone_cap} {verb} {object}, {verb} {object}, and {went} to {town}.|{Quote};
he = he|she|they|{who:person};
look = The {building} was {size} and {color}, with a~ {adjective} {thing} {where}.|In the {room} stood a~ {adjective} {thing} and {count} {thing}s.
  |The {place} smelled of {food} and {drink}.|{who:person} wore a~ {color} {garment} and {color} shoes.
  |From the {building} one could see the {place}, the {building} and the {tree}s.|The {room} had {count} windows and a~ {color} door.
  |On the wall hung a~ {adjective} picture of a~ {animal}.|The {animal} had {color} eyes and a~ {size} tail.;
garment = coat|hat|shirt|dress|scarf|jacket|apron|sweater|uniform|cap;
quote = "{saying}," {said} {someone}.|"{saying}," {who:person} {said} {manner}.|{someone_cap} {said}, "{saying}."|"{question}?" {said} {someone}.;
saying = I have {verb_past} the {thing}|We should {verb_base} {object}|The {thing} is {where}|You can keep {object}|It is too {size} for the {room}
  |Please {verb_base} {object} {when}|I am {feeling} today|My {relative} is a~ {job} in {spot:town}|There are {count} {animal}s {where}
  |Nobody has {verb_past} the {thing}|This {thing} costs {money}|We must leave {when}|I will {verb_base} it {when}|That is not my {thing};
question = Where is the {thing}|Who {verb} {object}|When will {who:person} come back|Why is the {thing} {state}|How many {thing}s are there
  |Can you {verb_base} {object}|Have you seen my {thing}|Is the {building} open {when}|What did the {job} say|Do you want {food} or {drink};

letter = Dear {friend:person}, {*3-7 line} {farewell}|{town}, {date}. Dear {title} {surname}, {*2-6 line} {farewell}
  |My dear {relative}, {*3-7 line} {farewell};
line = Thank you for the {thing} and the {food}.|I hope that you are not {feeling}.|We have {verb_past} the {thing} at last.
  |Your {relative} {verb} {object} {when}.|The weather here is {weather_word}, and the {place} is {state}.|I am writing {because}.
  |Please send me {quantity} of {food} {when}.|The {animal} is well and {sat_now} {where}.|Last {weekday} we {went} to {town}.
  |Do you remember the {adjective} {thing} {where}?|I have been {feeling} since {month}.|{Someone_cap} asks about you every week.
  |My new address is {#1-200} {street}, {town}.|The train leaves at {clock} and arrives at {clock}.|I enclose {money} for {object}.
  |We shall come {when} if the {place} is {state}.|You may {verb_base} {object} as long as you like.|The {job} said it would take {count} days.;
sat_now = sleeps|sits|lives|waits|plays|stays|sings;
farewell = Yours, {who:person}.|With love, {who:person}.|Yours sincerely, {who:person} {surname}.|Best wishes to your {relative}. {who:person}
  |Write soon! Your {relative}, {who:person}.;

talk = {*4-10 turn}|{opening} {*3-8 turn};
turn = {who:person}: {saying}.|{friend:person}: {question}?|{friend:person}: {saying}.|{who:person}: {question}?|{who:person}: {answer}
  |{friend:person}: {answer};
answer = Yes, {when}.|No, it is {state}.|I do not know.|Perhaps {when}.|Only {count}.|Of course, {because}.|It was {someone}.|Not before {clock}.
  |Ask the {job}.|{Where}, I think.;

diary = {date}. {*2-5 event} {date}. {*2-5 event}|{weekday}. {*2-4 entry} {weekday}. {*2-4 entry}|{*3-8 timed};
entry = Got up at {clock}.|{Weather_word} all day.|{Verb} {object}.|Saw {someone} {where}.|Spent {money} on {food}.|Felt {feeling}.
  |{Went} to {town} and back.|No news from {person}.|Wrote to {someone}.|Slept badly.|Worked {where} until {clock}.;
timed = {#5-9}:{#10-59} {Verb} {object}.|{#10-23}:{#10-59} {Someone_cap} {verb} {object}.|{#10-23}:{#10-59} {Went} to the {building}.;

recipe = {Food} with {vegetable}s. {*5-10 step}|To make {food} for {count} people, take {quantity} of {vegetable}s. {*4-8 step};
step = Wash the {vegetable}s and cut them into {size} pieces.|Add {quantity} of {food}.|Boil the {drink} for {#2-40} minutes.
  |Stir {manner} until it is {state}.|Put the {fruit}s in a {size} bowl.|Mix {food} with {food}.|Leave it {where} for {count} hours.
  |Cover it and wait.|Heat the oven to {#120-240} degrees.|Serve it with {food} and {drink}.|Add salt and pepper.|Slice the {fruit}s {manner}.
  |Do not let it boil.|Bake it for {#10-90} minutes.|Pour the {drink} over the {food}.;

route = From the {building} in {spot:town}, {*4-9 leg}|To reach {town}, {*4-8 leg};
leg = turn left at the {building}.|Turn right into {street}.|Go straight on for {#100-900} meters.|Cross the {place}.|Follow the {place} to the {building}.
  |Take bus {#1-99} to {street}.|Change at {town}.|Walk past the {adjective} {building}.|After {count} minutes you see a~ {adjective} {building}.
  |The {building} is on your left.|Keep the {place} on your right.|Get off at the {#2-9}th stop.|Take road {@A99} as far as {town}.;
)";

}  // namespace rldp::models
