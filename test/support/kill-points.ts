import type { ActivityDependencies } from '../../activities';

export const KILL_POINTS = [
  'openOrder:before-commit',
  'openOrder:after-commit',
  'sendToVenue:before',
  'sendToVenue:after',
  'applyExecutions:before-commit',
  'applyExecutions:after-commit',
] as const;

export type KillPoint = (typeof KILL_POINTS)[number];

/** Ends this process as a power cut would: nothing is flushed, nobody is told. */
function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The activities' parts, one of which ends the process at the named point. */
export function withKillPoint(deps: ActivityDependencies, point: KillPoint): ActivityDependencies {
  const at = (name: KillPoint) => () => {
    if (name === point) die();
  };
  return {
    ...deps,
    openOrderHooks: {
      beforeCommit: at('openOrder:before-commit'),
      afterCommit: at('openOrder:after-commit'),
    },
    publishCommand: async (command) => {
      at('sendToVenue:before')();
      await deps.publishCommand(command);
      at('sendToVenue:after')();
    },
    applyExecutionsHooks: {
      beforeCommit: at('applyExecutions:before-commit'),
      afterCommit: at('applyExecutions:after-commit'),
    },
  };
}

/** The kill point that this process was started with. */
export function killPointOfProcess(): KillPoint {
  const given = process.env['TEKIL_TEST_KILL_POINT'];
  const point = KILL_POINTS.find((each) => each === given);
  if (point === undefined) throw new Error(`TEKIL_TEST_KILL_POINT must be one of ${KILL_POINTS.join(', ')}`);
  return point;
}
