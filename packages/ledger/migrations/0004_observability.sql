ALTER TABLE "pawl"."runs" ADD COLUMN "trace_parent" text;--> statement-breakpoint
CREATE INDEX "actions_started" ON "pawl"."actions" USING btree ("run_id","item_seq") WHERE status = 'started';--> statement-breakpoint
CREATE INDEX "runs_by_agent" ON "pawl"."runs" USING btree ("agent","status");
