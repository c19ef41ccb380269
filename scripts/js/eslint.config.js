// Rules for the page's scripts; types are checked by tsc (tsconfig.json).

import js from "@eslint/js";
import globals from "globals";

const OWNED = "belongs to an element: use the methods of Part, which end it with the element (or shared/waiting.js).";
const EVENTS = "is untyped: use Emitter.emit or Part.send with an event declared in shared/events.js.";

/** What only Part and a few modules without an element may do. */
const RESTRICTED = [
  { selector: "CallExpression[callee.property.name='addEventListener']", message: `A listener ${OWNED}` },
  { selector: "CallExpression[callee.name=/^(addEventListener|setTimeout|setInterval|requestAnimationFrame)$/]", message: `A listener or timer ${OWNED}` },
  { selector: "NewExpression[callee.name='CustomEvent']", message: `A CustomEvent ${EVENTS}` },
  { selector: "NewExpression[callee.name=/Observer$/]:not(CallExpression[callee.property.name='own'] > NewExpression)", message: "An observer ends with its element: wrap it in this.own(…)." },
  { selector: "ClassDeclaration[superClass.name='HTMLElement']", message: "An element of the page derives from Part." },
  { selector: "ClassDeclaration[superClass.name='EventTarget']", message: "An object with events derives from Emitter." },
  { selector: "AssignmentExpression[left.property.name='innerHTML'][right.name!='html']", message: "Only HTML that the server sanitised may be inserted; all other text is textContent." },
];

export default [
  js.configs.recommended,
  {
    files: ["src/halo_weave/web/**/*.js"],
    languageOptions: { ecmaVersion: "latest", sourceType: "module", globals: globals.browser },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "off", // tsc knows the types
      eqeqeq: "error",
      "no-constructor-return": "error",
      "no-duplicate-imports": "error",
      "no-implicit-coercion": "error",
      "no-param-reassign": ["error", { props: false }],
      "no-promise-executor-return": "off",
      "no-self-compare": "error",
      "no-shadow": "error",
      "no-throw-literal": "error",
      "no-unmodified-loop-condition": "error",
      "no-unused-vars": ["error", { varsIgnorePattern: "^_$", argsIgnorePattern: "^_$", destructuredArrayIgnorePattern: "^_$" }],
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      "no-restricted-syntax": ["error", ...RESTRICTED],
    },
  },
  {
    // Part and Emitter are what the others use; theme.js and page-style.js live as long as the page.
    files: ["part.js", "emitter.js", "waiting.js", "theme.js", "page-style.js"].map((name) => `src/halo_weave/web/shared/${name}`),
    rules: { "no-restricted-syntax": "off" },
  },
];
