'use strict';

const swc = [
  '@swc/jest',
  { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'commonjs' } },
];

/** One project for each kind of test, so that every part of `npm test` can run alone. */
const project = (name, extra = {}) => ({
  displayName: name,
  testEnvironment: 'node',
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  // The migration runner is an ES module: it is compiled like our own files, so that tests migrate in their process.
  transformIgnorePatterns: ['/node_modules/(?!node-pg-migrate/)'],
  transform: { '^.+\\.ts$': swc, '/node_modules/node-pg-migrate/.+\\.js$': swc },
  ...extra,
});

module.exports = {
  testTimeout: 60_000,
  maxWorkers: 2,
  projects: [
    project('unit'),
    project('property'),
    project('replay'),
    project('integration'),
    project('workflow'),
    project('e2e'),
    project('fault'),
  ],
};
