// Entry of the bundle: show the data that the page carries.

import { showBottomUp } from "./bottom_up.js";
import { readData } from "./data.js";
import { showEndpoint } from "./endpoint.js";
import { showFleet } from "./fleet.js";

import "./theme.css";
import "./controls.css";
import "./base.css";
import "./cells.css";
import "./charts.css";
import "./tables.css";
import "./flame.css";
import "./frame_colours.css";

const data = readData();
if (data?.kind === "fleet" && data.endpoints.id.length) showFleet(data);
if (data?.kind === "bottom-up") showBottomUp(data);
if (data?.kind === "endpoint") showEndpoint(data);

addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "/" && search && !typing) {
    event.preventDefault();
    search.focus();
  }
});
