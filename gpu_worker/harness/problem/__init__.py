"""What a problem's file defines: its workloads and how their inputs are drawn."""
