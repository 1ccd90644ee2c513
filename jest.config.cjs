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
  transform: { '^.+\\.ts$': swc },
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
