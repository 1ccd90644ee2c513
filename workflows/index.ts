export { orderWorkflow } from './order-workflow';
export { lateExecutionsWorkflow } from './late-executions-workflow';
export { dedupCleanupWorkflow } from './dedup-cleanup-workflow';
export { positionsVerifyWorkflow } from './positions-verify-workflow';
