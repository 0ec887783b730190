// Bundles the front end into crisp/report/static/app.js and app.css, which every page loads.
import { build } from "esbuild";

await build({
  entryPoints: { app: "src/main.ts" },
  outdir: "../static",
  bundle: true,
  minify: true,
  format: "iife", // modules do not load from file://
  target: ["es2022"],
  charset: "utf8",
  legalComments: "eof",
  banner: { js: "/*! with d3 (ISC, Mike Bostock) and d3-flame-graph (Apache-2.0, Martin Spier) */" },
  logLevel: "warning",
});
