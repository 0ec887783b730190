// Entry of the bundle: show the data that the page carries.

import { showAnomalies } from "./anomalies.js";
import { showBottomUp } from "./bottom_up.js";
import { showCompareWhenSeen } from "./compare.js";
import { readData } from "./data.js";
import { showDiff } from "./diff.js";
import { showEndpoint } from "./endpoint.js";
import { showErrors } from "./errors.js";
import { showFleet } from "./fleet.js";
import { showRequestsWhenSeen } from "./requests.js";
import { linkSections, showLinkedSection } from "./sections.js";
import { showViolins } from "./violins.js";

import "./theme.css";
import "./controls.css";
import "./base.css";
import "./cells.css";
import "./charts.css";
import "./tables.css";
import "./flame.css";
import "./frame_colours.css";
import "./sections.css";
import "./latency.css";
import "./violins.css";
import "./heat.css";
import "./compare.css";
import "./anomalies.css";
import "./print.css";

const data = readData();
if (data?.kind === "fleet" && data.endpoints.id.length) showFleet(data);
if (data?.kind === "bottom-up") showBottomUp(data);
if (data?.kind === "anomalies") showAnomalies(data);
if (data?.kind === "diff" && data.endpoints.id.length) showDiff(data);
if (data?.kind === "comparison") showCompareWhenSeen(data, []);
if (data?.kind === "endpoint") {
  showEndpoint(data);
  showErrors(data);
  showViolins();
  showRequestsWhenSeen();
}
linkSections();
showLinkedSection();

addEventListener("keydown", (event) => {
  const search = document.getElementById("search");
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "/" && search && !typing) {
    event.preventDefault();
    search.focus();
  }
});
