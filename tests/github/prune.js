// Cuts GitHub's API description down to the routes of routes.txt: node prune.js DESCRIPTION ROUTES OUTPUT
// What is not listed (the merge of a pull request, for one) is not there, so a request for it fails loudly.
'use strict';
const fs = require('fs');

const [, , descriptionFile, routesFile, outputFile] = process.argv;
const whole = JSON.parse(fs.readFileSync(descriptionFile, 'utf8'));
const routes = fs.readFileSync(routesFile, 'utf8').split('\n').filter((l) => l && !l.startsWith('#'));

const pruned = { openapi: whole.openapi, info: whole.info, paths: {}, components: {} };
for (const route of routes) {
  const [method, path] = route.split(' ');
  const operation = whole.paths[path] && whole.paths[path][method.toLowerCase()];
  if (!operation) throw new Error(`GitHub's description has no ${route}`);
  pruned.paths[path] = pruned.paths[path] || {};
  pruned.paths[path][method.toLowerCase()] = operation;
}

// Every component that is named, and those that these name.
const todo = [pruned.paths];
while (todo.length > 0) {
  const value = todo.pop();
  if (value === null || typeof value !== 'object') continue;
  if (typeof value.$ref === 'string' && value.$ref.startsWith('#/components/')) {
    const [, , kind, name] = value.$ref.split('/');
    pruned.components[kind] = pruned.components[kind] || {};
    if (!pruned.components[kind][name]) {
      pruned.components[kind][name] = whole.components[kind][name];
      todo.push(whole.components[kind][name]);
    }
  }
  todo.push(...Object.values(value));
}
fs.writeFileSync(outputFile, JSON.stringify(pruned));
