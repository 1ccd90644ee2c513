'use strict';

/** Who may import what. Each rule names a room and what must never be reached from it. */
const room = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: '^(src|workflows|activities)/', pathNot: [from, ...allowed] },
});

const packages = (name, from, allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { dependencyTypes: ['npm', 'npm-dev', 'npm-peer', 'core', 'npm-no-pkg', 'unknown'], pathNot: allowed },
});

const DOMAIN = '^src/domain/';
const CONTRACTS = '^src/contracts/';
const OBSERVABILITY = '^src/observability/';
const DB = '^src/db/';

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },

    room('domain-imports-itself-only', DOMAIN, []),
    packages('domain-uses-one-decimal-library', '^src/domain/(?!digest)', ['node_modules/big\\.js/']),
    // hash is a pure function; writing our own SHA-256 would be the worse choice.
    packages('domain-digest-uses-node-crypto-only', '^src/domain/digest', ['^crypto$', '^node:crypto$']),

    room('contracts-import-domain-only', CONTRACTS, [DOMAIN]),
    packages('contracts-use-zod-only', CONTRACTS, ['node_modules/zod(-openapi)?/']),

    room('workflows-import-domain-and-types', '^workflows/', [DOMAIN]),
    packages('workflows-stay-in-the-sandbox', '^workflows/', ['node_modules/@temporalio/(workflow|common)/']),
    {
      name: 'workflows-never-reach-node-crypto',
      severity: 'error',
      from: { path: '^workflows/' },
      to: { path: '^src/domain/digest', reachable: true },
    },

    room('activities-import-their-dependencies', '^activities/', [
      DOMAIN,
      CONTRACTS,
      DB,
      '^src/kafka/venue-command-producer',
      '^src/quotes/gate-client',
      OBSERVABILITY,
    ]),

    room('db-stands-alone', DB, [DOMAIN, CONTRACTS, OBSERVABILITY]),
    room('kafka-stands-alone', '^src/kafka/', [DOMAIN, CONTRACTS, OBSERVABILITY]),
    room('quotes-stand-alone', '^src/quotes/', [DOMAIN, CONTRACTS, OBSERVABILITY]),
    room('venue-stands-alone', '^src/venue/', [DOMAIN, CONTRACTS, OBSERVABILITY, '^src/kafka/']),
    room('observability-stands-alone', OBSERVABILITY, []),
    room('temporal-knows-messages-and-types', '^src/temporal/', [
      DOMAIN,
      CONTRACTS,
      OBSERVABILITY,
      '^workflows/',
      '^activities/index',
      '^src/package-root',
    ]),
    room('http-reads-and-asks-the-gateway', '^src/http/', [
      DOMAIN,
      CONTRACTS,
      DB,
      OBSERVABILITY,
      '^src/temporal/order-gateway',
    ]),
    packages('http-knows-no-broker-and-no-engine', '^src/http/', [
      'node_modules/(?!kafkajs|@temporalio)',
      '^(node:)?(crypto|http|net|fs|path|timers|events|stream|util|buffer|url|async_hooks|perf_hooks)',
    ]),
    {
      name: 'nothing-imports-a-composition-root',
      severity: 'error',
      from: {
        path: '^(src/(domain|contracts|db|kafka|quotes|temporal|http|observability|venue)|workflows|activities)/',
      },
      to: { path: '^src/(services|cli|dev)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    // Type imports are free between rooms only where a rule says so: they are seen, too, in every other room.
    tsPreCompilationDeps: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'default', 'types'],
    },
  },
};
